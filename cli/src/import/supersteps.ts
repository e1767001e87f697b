/**
 * Turns the checkpoints of a thread into supersteps that make the same checkpoints again (`POST /threads` with `supersteps`). Pure.
 *
 * What the tasks of a checkpoint wrote is in the history, before the channels' reducers. For a list that only grew, the new items are
 * taken from the state after it: messages have their ids there. Where the history does not say what a task wrote (one that was interrupted
 * and resumed, an update by hand), it is what changed in the state.
 */
import { sameJson } from "./same-json.js"
import type { State, Task, Values } from "./states.js"

export interface Update {
  readonly as_node: string
  readonly values?: Values
  readonly command?: { readonly update: Values; readonly goto: readonly string[] }
}

export interface Superstep {
  readonly updates: readonly Update[]
}

/** How an unknown write to a list that grew is replayed: its new items for channels that append, all items for others. */
export type UnknownLists = "new items" | "all items"

export interface Replay {
  /** From the newest to the oldest; the oldest is made from its values, unless it is the first one of the thread. */
  readonly chain: readonly State[]
  readonly unknownLists: UnknownLists
  /** The node by which a state can have been made; for states whose history does not say it. */
  readonly producerOf: (state: State) => string | undefined
  /** Nodes that go to the next one themselves, by a `Command`: no edge of the graph says where. */
  readonly goingNodes: ReadonlySet<string>
}

/** The states that the supersteps make, and the supersteps, both from the oldest to the newest; undefined when one cannot be made. */
export function replay({ chain, ...options }: Replay): { states: State[]; supersteps: Superstep[] } | undefined {
  const states = chain.toReversed()
  const supersteps: Superstep[] = []
  for (const [index, state] of states.entries()) {
    const updates = updatesFor(states[index - 1], state, states[index + 1], options)
    if (updates.length === 0) return undefined
    const [only] = updates
    const goes = updates.length === 1 && only !== undefined && options.goingNodes.has(only.as_node)
    supersteps.push({ updates: goes ? [goTo(only, state.next)] : updates })
  }
  return { states, supersteps }
}

/** The update with where its node goes. */
export const goTo = ({ as_node, values, command }: Update, next: readonly string[]): Update =>
  next.length === 0
    ? { as_node, values: values ?? {} }
    : { as_node, command: { update: values ?? command?.update ?? {}, goto: next } }

function updatesFor(
  before: State | undefined,
  state: State,
  after: State | undefined,
  { unknownLists, producerOf }: Omit<Replay, "chain">,
): Update[] {
  const start = state.tasks.find(({ name }) => name === "__start__")
  if (state.source === "input" && start) {
    const [input] = writesOf([start], state.values, after?.values ?? state.values, unknownLists)
    return [{ as_node: "__input__", values: input?.values ?? {} }]
  }
  const ran = before?.tasks ?? []
  if (before && ran.length > 0 && state.source !== "update")
    return writesOf(ran, before.values, state.values, unknownLists)
  const name = producerOf(state)
  if (name === undefined) return []
  return writesOf([{ name, result: undefined, isSent: false }], before?.values ?? {}, state.values, unknownLists)
}

/** What each task wrote. */
function writesOf(tasks: readonly Task[], before: Values, after: Values, unknownLists: UnknownLists): Update[] {
  const written = tasks.map(({ result }) => ({ ...result }) as Record<string, unknown>)
  const unknown = tasks.findIndex(({ result }) => result === undefined)
  for (const [channel, value] of Object.entries(after)) {
    if (sameJson(before[channel], value)) continue
    const items = newItems(before[channel], value)
    const shares = written.map((writes) => (Object.hasOwn(writes, channel) ? countOf(writes[channel]) : 0))
    const rest = (items?.length ?? 0) - shares.reduce((sum, share) => sum + share, 0)
    const isShared = items !== undefined && (rest === 0 || (rest > 0 && unknown >= 0 && unknownLists === "new items"))
    if (isShared) {
      if (rest > 0) shares[unknown] = rest
      let at = 0
      for (const [index, share] of shares.entries()) {
        if (share > 0) set(written[index], channel, items.slice(at, at + share))
        at += share
      }
    } else if (unknown >= 0 && shares.every((share) => share === 0)) {
      set(written[unknown], channel, value)
    }
  }
  return tasks.map(({ name }, index) => ({ as_node: name, values: mapValues(written[index] ?? {}, lastWrite) }))
}

/** What a list has more than before; undefined for other values, and for lists that changed otherwise. */
function newItems(before: unknown, after: unknown): unknown[] | undefined {
  if (!Array.isArray(after)) return undefined
  const former = before === undefined || before === null ? [] : before
  if (!Array.isArray(former) || former.length > after.length) return undefined
  return sameJson(former, after.slice(0, former.length)) ? after.slice(former.length) : undefined
}

/** A task that wrote to a channel several times. */
const writesIn = (value: unknown): readonly unknown[] | undefined => {
  const { $writes } = (typeof value === "object" && value !== null ? value : {}) as { $writes?: unknown }
  return Array.isArray($writes) ? $writes : undefined
}

const countOf = (value: unknown): number =>
  writesIn(value)?.reduce<number>((sum, each) => sum + countOf(each), 0) ?? (Array.isArray(value) ? value.length : 1)

const lastWrite = (value: unknown): unknown => writesIn(value)?.at(-1) ?? value

// A channel may have any name, also `__proto__`.
const set = (object: object | undefined, key: string, value: unknown): void =>
  void Object.defineProperty(object ?? {}, key, { value, configurable: true, enumerable: true, writable: true })

function mapValues(object: Values, change: (value: unknown) => unknown): Values {
  const changed = {}
  for (const [key, value] of Object.entries(object)) set(changed, key, change(value))
  return changed
}

/** What a list of names has more than another one; undefined when it lacks one. */
export function missingNames(wanted: readonly string[], found: readonly string[]): string[] | undefined {
  const rest = [...wanted]
  for (const name of found) {
    const at = rest.indexOf(name)
    if (at < 0) return undefined
    rest.splice(at, 1)
  }
  return rest
}
