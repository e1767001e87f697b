/** Whether a thread is stopped at a breakpoint from which no run has continued. Pure. */
import type { CheckpointTuple } from "../loading/langgraph.js"

export type Nodes = "*" | readonly string[]

/**
 * LangGraph treats a run without input as a request to continue from a breakpoint. That is right for a new run, but a repeated
 * attempt must stop where the previous one stopped; else a node would run before a person has checked it.
 * @param next   the nodes that would run
 * @param nodes  the nodes to stop before
 * @see          `shouldInterrupt` of LangGraph: a channel has changed since the last interruption from which a run continued
 */
export function standsBefore(head: CheckpointTuple, next: readonly string[], nodes: Nodes | undefined): boolean {
  if (nodes === undefined || !next.some((node) => nodes === "*" || nodes.includes(node))) return false
  const { channel_versions: versions, versions_seen: seen } = head.checkpoint
  const known = seen.__interrupt__ ?? {}
  return Object.entries(versions).some(([channel, version]) => version > (known[channel] ?? 0))
}
