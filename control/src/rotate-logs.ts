/** Keeps the log files of the installation small. */
import { join } from "node:path"
import { repeated } from "@superstep/toolkit/exec/repeated"
import type { Log } from "@superstep/toolkit/log/log"
import { rotateLog } from "@superstep/toolkit/log/rotate-log"

// A log that grows by a megabyte a second exceeds its limit for at most a minute.
const everyMs = 60_000

/** Logs of the control plane and the command line (where `superstep up` keeps them) and the embedded Postgres. */
const ownLogs = (home: string): readonly string[] => [
  join(home, "logs", "control.log"),
  join(home, "logs", "cli.log"),
  join(home, "postgres", "postgres.log"),
]

/** @param machineLogs  log files of the machine */
export function startLogRotation(home: string, machineLogs: readonly string[], log: Log): { stop(): Promise<void> } {
  const rotate = async () => {
    for (const path of [...ownLogs(home), ...machineLogs]) {
      try {
        if (await rotateLog(path)) log.info({ path }, "log rotated")
      } catch (err) {
        log.warn({ err, path }, "a log could not be rotated; retrying")
      }
    }
  }
  const rotating = repeated(rotate, everyMs)
  rotating.wake()
  return rotating
}
