/** A long conversation in parts, which the browser lays out and paints one by one. Pure. */

export interface MessagePart<Message> {
  /** That of its first message when it was made. */
  readonly key: string
  readonly messages: readonly Message[]
}

const usualSize = 20

/**
 * A message stays in its part when others come and go, since one that changes its part is drawn anew, and loses what the person has opened or typed there.
 * @param former  the part of each message that was shown before
 */
export function partsOf<Message extends { readonly key: string }>(
  messages: readonly Message[],
  former: ReadonlyMap<string, string>,
): readonly MessagePart<Message>[] {
  const lastOf = new Map(messages.map(({ key }, at) => [former.get(key), at]))
  const parts: { key: string; messages: Message[] }[] = []
  const used = new Set<string>()
  for (const [at, message] of messages.entries()) {
    const [part, known] = [parts.at(-1), former.get(message.key)]
    // What is new never divides a part.
    const isFull = part && part.messages.length >= usualSize && (lastOf.get(part.key) ?? -1) < at
    const begins = known === undefined ? isFull : known !== part?.key && !used.has(known)
    if (part && !begins) {
      part.messages.push(message)
      continue
    }
    parts.push({ key: known ?? message.key, messages: [message] })
    used.add(known ?? message.key)
  }
  return parts
}

/** What the next call is given. */
export const partOfEach = (parts: readonly MessagePart<{ readonly key: string }>[]): ReadonlyMap<string, string> =>
  new Map(parts.flatMap(({ key, messages }) => messages.map((message) => [message.key, key])))
