/** The threads of the runs in a log: lines about a run's start and end name both. Pure. */
import type { LogLine } from "../platform/types.js"

const named = /"thread_id":"([0-9a-f-]{36})"/

/** @returns  the thread of each run that one of the lines names */
export function threadsOf(lines: readonly Pick<LogLine, "run_id" | "message">[]): ReadonlyMap<string, string> {
  const threads = new Map<string, string>()
  for (const { run_id, message } of lines) {
    if (run_id === null || threads.has(run_id)) continue
    const threadId = named.exec(message)?.[1]
    if (threadId !== undefined) threads.set(run_id, threadId)
  }
  return threads
}
