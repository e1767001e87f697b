/** Whether a thread stands at a breakpoint that nobody has gone on from. Pure. */
import type { CheckpointTuple } from "./langgraph.js"

export type Nodes = "*" | readonly string[]

/**
 * LangGraph takes a run without input as the wish to go on from a breakpoint. That is right for a new run; a repeated
 * attempt must stop where the one before it stopped, else a node runs that a person was to look at first.
 * @param next   the nodes that would run
 * @param nodes  those to stop before
 * @see          `shouldInterrupt` of LangGraph: something is new since the last interruption that was gone on from
 */
export function standsBefore(head: CheckpointTuple, next: readonly string[], nodes: Nodes | undefined): boolean {
  if (nodes === undefined || !next.some((node) => nodes === "*" || nodes.includes(node))) return false
  const { channel_versions: versions, versions_seen: seen } = head.checkpoint
  const known = seen.__interrupt__ ?? {}
  return Object.entries(versions).some(([channel, version]) => version > (known[channel] ?? 0))
}
