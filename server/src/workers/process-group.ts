/** A worker and all processes it started share a process group, whose id is the worker's pid. */

/**
 * Kills every process of a group. A process that made its own group (`detached`, `setsid`) has left it and goes on.
 * @param pid  the group's first process, which may already have ended
 */
export function killGroup(pid: number): void {
  try {
    process.kill(-pid, "SIGKILL")
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    // ESRCH: no process is left. EPERM: the rest belongs to another user, or (on macOS) has ended and waits to be reaped.
    if (code !== "ESRCH" && code !== "EPERM") throw error
  }
}
