/** The line of checkpoints that a conversation follows, and where it can leave it: the other versions of a message. Pure. */
import { areMessages, type RawMessage } from "../messages/messages.js"
import type { TreeItem } from "../time-travel/checkpoint-tree.js"

/** Checkpoints by their ids. */
export type Checkpoints = ReadonlyMap<string, TreeItem>

/** @returns the checkpoints that lead to one, that one first */
export function lineOf(items: Checkpoints, tip: TreeItem | undefined): TreeItem[] {
  const line: TreeItem[] = []
  for (let each = tip; each; each = parentOf(items, each)) line.push(each)
  return line
}

const parentOf = (items: Checkpoints, { parentId }: TreeItem): TreeItem | undefined =>
  parentId === undefined ? undefined : items.get(parentId)

/** The messages of a checkpoint's state. */
export function messagesIn({ item }: TreeItem, key: string): readonly RawMessage[] {
  const found = (item.values as Readonly<Record<string, unknown>> | null)?.[key]
  return areMessages(found) ? found : []
}

/** One version of what a person said at a place of the conversation. */
export interface Version {
  /** The newest checkpoint that came of it. */
  readonly tip: string
  readonly isShown: boolean
}

export interface Turn {
  /** The checkpoint that another version of the message starts from; undefined if it is not known. */
  readonly from: string | undefined
  /** In the order in which they were said; one of them is shown. */
  readonly versions: readonly Version[]
}

/** What the message list needs to know of each human message of the line, by the message's id. */
export function turnsOf(items: Checkpoints, line: readonly TreeItem[], key: string): ReadonlyMap<string, Turn> {
  const shown = new Set(line.map(({ id }) => id))
  const humanMessages = [...items.values()].flatMap((item) => humanMessageAt(items, item, key))
  const tips = tipsOf(items)
  const turns = new Map<string, Turn>()
  for (const { messageId, at, from } of humanMessages) {
    if (!shown.has(at)) continue
    const versions = humanMessages
      .filter((other) => other.from === from)
      .sort((a, b) => (a.at < b.at ? -1 : 1))
      .map((other) => ({ tip: tips.get(other.at) ?? other.at, isShown: shown.has(other.at) }))
    turns.set(messageId, { from: from ?? rootOf(items, at), versions })
  }
  return turns
}

interface HumanMessage {
  readonly messageId: string
  /** The checkpoint that has the message first. */
  readonly at: string
  /** The one before the input; undefined for the first input of a thread. */
  readonly from: string | undefined
}

function humanMessageAt(items: Checkpoints, item: TreeItem, key: string): HumanMessage[] {
  const parent = parentOf(items, item)
  // The first checkpoint that was read may have messages from before it: nobody said them there.
  if (!parent) return []
  const before = new Set(messagesIn(parent, key).map(({ id }) => id))
  const message = messagesIn(item, key).find(({ id, type }) => type === "human" && id !== undefined && !before.has(id))
  if (message?.id === undefined) return []
  let from: TreeItem | undefined = parent
  while (from && isInput(from)) from = parentOf(items, from)
  return [{ messageId: message.id, at: item.id, from: from?.id }]
}

/** An input is written before the step that puts it into the state. */
const isInput = ({ item }: TreeItem): boolean => item.metadata?.source === "input"

/** The oldest checkpoint below one: an input of a new thread, which has nothing before it. */
const rootOf = (items: Checkpoints, id: string): string | undefined => lineOf(items, items.get(id)).at(-1)?.id

/** @returns for each checkpoint the newest one that came of it */
function tipsOf(items: Checkpoints): Map<string, string> {
  const tips = new Map<string, string>()
  // The newest first, so the first that comes by is the newest.
  for (const { id } of [...items.values()].sort((a, b) => (a.id < b.id ? 1 : -1)))
    for (let at = items.get(id); at && !tips.has(at.id); at = parentOf(items, at)) tips.set(at.id, id)
  return tips
}

/**
 * The messages without those of other branches. The hook reads the events of all branches, and takes those of a branch that left
 * earlier for older ones (@langchain/react 1.1).
 * @param tip  the newest checkpoint of the branch that is shown
 */
export function withoutOthers(
  messages: readonly RawMessage[],
  items: Checkpoints,
  tip: TreeItem | undefined,
  key: string,
): readonly RawMessage[] {
  if (!tip) return messages
  const kept = new Set(messagesIn(tip, key).map(({ id }) => id))
  const others = new Set([...items.values()].flatMap((item) => messagesIn(item, key).map(({ id }) => id)))
  const isOther = ({ id }: RawMessage): boolean => id !== undefined && others.has(id) && !kept.has(id)
  return messages.some(isOther) ? messages.filter((message) => !isOther(message)) : messages
}
