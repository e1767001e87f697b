/** Decides whether the pipeline is stuck although revisions wait. Pure. */
import type { PipelineProgress } from "./progress-queries.js"

// The pipeline polls every ten seconds, even without a wake-up.
const idleMs = 5 * 60_000
// Longer than the default limits of install, build and start together.
const busyMs = 60 * 60_000

/**
 * @param upMs  uptime of this process: it first takes up the work of its predecessor
 * @returns     the reason why it counts as stuck, as text; undefined when it does not
 */
export function whyStuck(progress: PipelineProgress, upMs: number): string | undefined {
  const { waiting, claimed, quiet_ms: quietMs } = progress
  if (waiting === 0 || quietMs === null) return undefined
  const lasts = Math.min(upMs, quietMs, progress.oldest_waiting_ms)
  if (lasts < (claimed > 0 ? busyMs : idleMs)) return undefined
  const minutes = Math.floor(lasts / 60_000)
  const what = waiting === 1 ? "a revision waits" : `${waiting} revisions wait`
  const why = claimed > 0 ? `${claimed} have been worked on without progress` : "no process works on them"
  return `the pipeline is stuck: ${what} for ${minutes} minutes, and ${why}; see the control plane's log, and restart it`
}
