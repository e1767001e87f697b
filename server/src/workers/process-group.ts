/** A worker and all that it started share a process group, whose number is the worker's pid. */

/**
 * Ends every process of a group. One that made a group of its own (`detached`, `setsid`) has left it and goes on.
 * @param pid  the group's first process, which may have ended
 */
export function killGroup(pid: number): void {
  try {
    process.kill(-pid, "SIGKILL")
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    // ESRCH: nobody is left. EPERM: who is left belongs to another user, or on macOS has ended and waits to be reaped.
    if (code !== "ESRCH" && code !== "EPERM") throw error
  }
}
