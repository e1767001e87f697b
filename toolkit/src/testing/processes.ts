/** Processes of this machine as /proc shows them: who started whom, and ending them without a word. */
import { readdirSync, readFileSync } from "node:fs"
import { identify, isAlive, type ProcessIdentity } from "../exec/process-identity.js"
import { until } from "./until.js"

/** Why a test that kills cannot run here, or false. */
export const skip = process.platform !== "linux" && "what is to be killed is found in /proc"

/** The living children of a process; none when it has ended. */
export function childrenOf(parent: number): number[] {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name))
  return pids.filter((pid) => parentOf(pid) === parent).map(Number)
}

/** A zombie has ended: it is nobody's child any more. */
function parentOf(pid: string): number | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "latin1")
    const [state, ppid] = text.slice(text.lastIndexOf(")") + 2).split(" ")
    return state === "Z" ? undefined : Number(ppid)
  } catch {
    // It ended while we looked.
    return undefined
  }
}

/** Kills processes, the first one first, and waits until they are gone. Those that have ended already are passed over. */
export async function killAll(pids: readonly number[]): Promise<void> {
  const found = await Promise.all(pids.map(identify))
  const living = found.filter((identity) => identity !== undefined)
  for (const { pid } of living) send(pid, "SIGKILL")
  for (const identity of living) await untilEnded(identity)
}

const untilEnded = (identity: ProcessIdentity, timeoutMs = 20_000) =>
  until(async () => !(await isAlive(identity)), { what: `process ${identity.pid} has ended`, timeoutMs })

/** @returns false when the process has ended already */
export function send(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ESRCH") return false
    throw error
  }
}
