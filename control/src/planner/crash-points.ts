/**
 * Named places at which a test kills the control plane, to prove that it may die at any moment (pipeline/README.md lists
 * them). Outside of such a test each is a comparison with undefined.
 */

/** Kills this process without cleanup when `at` names this point. */
export type CrashPoint = (name: string) => void

/** @param at  the value of SUPERSTEP_CRASH_AT */
export const crashPoints =
  (at: string | undefined): CrashPoint =>
  (name) => {
    if (at === name) process.kill(process.pid, "SIGKILL")
  }
