/** Stops processes, also those that are not our children or that a former process of ours started. */
import { setTimeout as sleep } from "node:timers/promises"
import { identify, isAlive, type ProcessIdentity } from "./process-identity.js"
import { groupMembers } from "./process-tree.js"

// The end of a process that is not our child causes no event, so it is polled. 20 ms is less than any start takes.
const pollMs = 20

/**
 * Sends a signal to a process and, when it has not exited after `graceMs`, kills it. Returns when it is gone.
 * @param graceMs  how long its shutdown may take, in milliseconds
 * @param group    also signal the processes it started, which share its process group; those that are left when it has
 *                 exited are killed, and on Linux it returns when they are gone as well: they may have its ports
 * @returns        `gone` if it had ended before, `ended` if it exited after the signal, `killed` if it had to be killed
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
  if (group) await untilGroupGone(identity.pid)
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

/** Waits until no process of a killed group runs. */
async function untilGroupGone(group: number): Promise<void> {
  const isRunning = async (pid: number) => (await identify(pid)) !== undefined
  while ((await Promise.all(groupMembers(group).map(isRunning))).includes(true)) await sleep(pollMs)
}

function send(target: number, signal: NodeJS.Signals): void {
  try {
    process.kill(target, signal)
  } catch (error) {
    // It ended between the check and the signal.
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error
  }
}
