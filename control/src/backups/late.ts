/** Decides whether scheduled backups are so late that an operator should know. Pure. */
import type { BackupState } from "./queries.js"

// A backup may take a while, and a failed one is tried again.
const patienceSeconds = 3600

/** @returns  the reason as text; undefined while all is well */
export function whyBackupLate(state: BackupState | undefined): string | undefined {
  if (!state || state.late_seconds < patienceSeconds) return undefined
  const hours = Math.floor(state.late_seconds / 3600)
  const since = `a scheduled backup has been due for ${hours} ${hours === 1 ? "hour" : "hours"}`
  const why = state.failures === 0 ? "none was tried: is superstep up running?" : `${state.failures} tries have failed`
  return `${since}, and ${why}; see logs/cli.log in the data folder`
}
