/** The Python worker's events of a message, made from the same chunks as ours. */
import { execFile } from "node:child_process"
import { promisify } from "node:util"
import { interpreter, skip, worker } from "./python-worker.js"

export { skip }

/** @param messages  the chunks of each message. A chunk comes every 100 ms; its message has the id `run-1` */
export async function pythonEventsOf(messages: readonly object[][]): Promise<Record<string, unknown>[][]> {
  const program = `${worker}testing/message_events.py`
  const { stdout } = await promisify(execFile)(interpreter, [program, JSON.stringify(messages)])
  return JSON.parse(stdout)
}
