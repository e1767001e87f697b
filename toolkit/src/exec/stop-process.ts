/** Ends processes, also those that are not our children and those that a former process of ours started. */
import { setTimeout as sleep } from "node:timers/promises"
import { isAlive, type ProcessIdentity } from "./process-identity.js"

// Nobody tells us of the end of a process that is not our child, so it is asked for. 20 ms is less than any start takes.
const pollMs = 20

/**
 * Asks a process to end and, when it has not ended after `graceMs`, kills it. Returns when it is gone.
 * @param graceMs  how long it may take over its own end, in milliseconds
 * @param group    also signal the processes it started, which share its process group; what is left of them when it
 *                 has ended is killed
 * @returns        `gone` if it had ended before, `ended` if it did so when asked, `killed` if it had to be
 */
export async function stopProcess(
  identity: ProcessIdentity,
  { graceMs, group = false, signal = "SIGTERM" }: { graceMs: number; group?: boolean; signal?: NodeJS.Signals },
): Promise<"gone" | "ended" | "killed"> {
  if (!(await isAlive(identity))) return "gone"
  const target = group ? -identity.pid : identity.pid
  send(target, signal)
  const ended = await untilGone(identity, graceMs)
  if (!ended) {
    send(target, "SIGKILL")
    await untilGone(identity, Number.POSITIVE_INFINITY)
  } else if (group) {
    send(target, "SIGKILL")
  }
  return ended ? "ended" : "killed"
}

/** Waits until this very process has ended. @returns whether it has, within `timeoutMs` */
export async function untilGone(identity: ProcessIdentity, timeoutMs: number): Promise<boolean> {
  const deadline = performance.now() + timeoutMs
  while (await isAlive(identity)) {
    if (performance.now() >= deadline) return false
    await sleep(pollMs)
  }
  return true
}

function send(target: number, signal: NodeJS.Signals): void {
  try {
    process.kill(target, signal)
  } catch (error) {
    // It ended between the look and the signal.
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error
  }
}
