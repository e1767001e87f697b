/** Why a process ended, as far as its exit shows. Pure. */

/** @returns such as `exit code 1` or `signal SIGSEGV` */
export function exitReason(code: number | null, signal: NodeJS.Signals | null): string {
  // Node ends like this when JavaScript's heap is full, and writes more to standard error.
  if (signal === "SIGABRT") return "signal SIGABRT, as when JavaScript's memory is full"
  return signal === null ? `exit code ${code}` : `signal ${signal}`
}
