/** Which protocol events a client wants: by channel, namespace and depth. Pure. */
import { isProtocolEvent, type ProtocolName, parseProtocolName } from "../events/protocol-event.js"

export interface ChannelFilter {
  readonly channels: readonly string[]
  /** Prefixes of namespaces, of which one must match; absent or empty: every namespace. */
  readonly namespaces?: readonly (readonly string[])[] | null | undefined
  /** How many levels below such a prefix are included; absent: all. */
  readonly depth?: number | null | undefined
}

/** The channels of a subscription, besides `custom:<name>`. */
export const channels = [
  "values",
  "updates",
  "messages",
  "tools",
  "lifecycle",
  "input",
  "checkpoints",
  "tasks",
  "custom",
] as const

export const isChannel = (name: string): boolean =>
  (channels as readonly string[]).includes(name) || /^custom:./s.test(name)

// Names contain the ids of tasks, so a cache is emptied before it fills the memory.
const maxCached = 1000

/**
 * @returns whether a client gets an event of this name
 * @see protocol-v2 §1.5, "Filter match"; `matchesSubscription` of @langchain/langgraph/stream
 */
export function channelFilter(filter: ChannelFilter): (event: string) => boolean {
  const wanted = new Set(filter.channels)
  const known = new Map<string, boolean>()
  return (event) => {
    if (!isProtocolEvent(event)) return false
    const before = known.get(event)
    if (before !== undefined) return before
    if (known.size >= maxCached) known.clear()
    const matches = matchesName(parsed(event), wanted, filter)
    known.set(event, matches)
    return matches
  }
}

const names = new Map<string, ProtocolName>()

/** All clients of a thread ask for the same names. */
function parsed(event: string): ProtocolName {
  const known = names.get(event)
  if (known) return known
  if (names.size >= maxCached) names.clear()
  const name = parseProtocolName(event) ?? { channel: "", namespace: [] }
  names.set(event, name)
  return name
}

function matchesName(
  { channel, namespace }: ProtocolName,
  wanted: ReadonlySet<string>,
  { namespaces, depth }: ChannelFilter,
): boolean {
  const group = channel.startsWith("input.") ? "input" : channel
  const isWanted = wanted.has(group) || (group.startsWith("custom:") && wanted.has("custom"))
  if (!isWanted) return false
  if (!namespaces || namespaces.length === 0) return true
  return namespaces.some((prefix) => isBelow(namespace, prefix) && isWithin(namespace, prefix, depth))
}

const isBelow = (namespace: readonly string[], prefix: readonly string[]): boolean =>
  prefix.length <= namespace.length && prefix.every((segment, n) => matchesSegment(namespace[n] ?? "", segment))

/** A segment without a task stands for all tasks of its node. */
const matchesSegment = (segment: string, wanted: string): boolean =>
  segment === wanted || (!wanted.includes(":") && segment.split(":", 1)[0] === wanted)

const isWithin = (namespace: readonly string[], prefix: readonly string[], depth: number | null | undefined): boolean =>
  depth === null || depth === undefined || namespace.length - prefix.length <= depth
