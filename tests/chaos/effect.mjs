/** What a node does to the world: a line in a file, appended whole, which no kill takes back. */
import { appendFileSync } from "node:fs"

/**
 * Tells that a node executes, before it does anything else.
 * @param config  the node's own: it names the run, its attempt and the super-step
 */
export function tell(config, node) {
  const { run_id, run_attempt, langgraph_step } = config.metadata
  const line = { run_id, node, attempt: run_attempt, step: langgraph_step, pid: process.pid }
  appendFileSync(process.env.CHAOS_EFFECTS, `${JSON.stringify(line)}\n`)
}
