/** What a node does to the world: a line in a file, appended whole, which no kill takes back. */
import { appendFileSync } from "node:fs"

/**
 * Tells that a node executes, before it does anything else.
 * @param config  the node's own: it names the run, its attempt, the super-step, and the checkpoint from which LangGraph started that
 */
export function tell(config, node) {
  const { run_id, run_attempt, langgraph_step } = config.metadata
  const { checkpoint_map, checkpoint_ns } = config.configurable
  const origin = { from: checkpoint_map?.[""], ns: checkpoint_ns }
  const line = { run_id, node, attempt: run_attempt, step: langgraph_step, pid: process.pid, ...origin }
  appendFileSync(process.env.CHAOS_EFFECTS, `${JSON.stringify(line)}\n`)
}
