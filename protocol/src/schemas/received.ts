/** Reads a message with its generated validator. */

/** A function that `receiversOf` printed. After it has returned false, `errors` has the first problem. */
export interface Receiver {
  (value: unknown): boolean
  errors?: readonly { readonly instancePath: string; readonly message?: string }[] | null
}

export type Received<Message> =
  | { readonly message: Message }
  | { readonly problem: { readonly path: readonly string[]; readonly message: string } }

// A path can contain a key that the sender chose.
const longestPart = 100

/**
 * @param value  a parsed JSON value; fields that the message does not have are removed from it
 * @returns      the message, or its first problem: the path to the invalid field, and what was expected there
 */
export function received<Message>(receiver: Receiver, value: unknown): Received<Message> {
  if (receiver(value)) return { message: value as Message }
  const { instancePath = "", message = "is invalid" } = receiver.errors?.[0] ?? {}
  const path = instancePath.split("/").slice(1)
  return { problem: { path: path.map((part) => unescaped(part).slice(0, longestPart)), message } }
}

/** As in a JSON pointer. */
const unescaped = (part: string): string => part.replaceAll("~1", "/").replaceAll("~0", "~")
