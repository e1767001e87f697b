/** Why a process ended, as far as its exit tells. Pure. */

/** @returns such as `exit code 1` or `signal SIGSEGV` */
export function exitReason(code: number | null, signal: NodeJS.Signals | null): string {
  // Node ends so when JavaScript's heap is full, and says more on standard error.
  if (signal === "SIGABRT") return "signal SIGABRT, as when JavaScript's memory is full"
  return signal === null ? `exit code ${code}` : `signal ${signal}`
}
