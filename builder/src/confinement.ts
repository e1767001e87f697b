/**
 * Confines a step and everything it starts. On Linux a step is the first process of its own PID namespace: it sees only
 * its own processes, and all of them end with it, even those with a session of their own and a changed environment. Where
 * the machine does not allow that (other systems, containers without the right), only the process group and the visible
 * descendants are killed.
 */
import { execFile } from "node:child_process"
import { promisify } from "node:util"
import { processesOption } from "@superstep/toolkit/exec/process-limits"
import type { OsUser } from "@superstep/toolkit/exec/spawn-detached"

export interface Confinement {
  readonly isNamespace: boolean
}

/** Tests the machine once, which takes about 20 ms. */
export async function findConfinement(environment: Readonly<Record<string, string>>): Promise<Confinement> {
  const user = process.getuid?.() === 0 ? { uid: 0, gid: 0 } : null
  const [program, ...args] = confinedArgv(["true"], { isNamespace: true }, { user, maxFileMb: 0 })
  return promisify(execFile)(program, args, { env: environment }).then(
    () => ({ isNamespace: true }),
    // The reason (no such program, no permission) makes no difference.
    () => ({ isNamespace: false }),
  )
}

// The first process of a namespace ignores signals that it does not handle, and must reap its children, so the step is its
// child. Elsewhere the step takes the shell's place, so that whoever kills it has killed the step. POSIX counts the size of a file in
// blocks of 512 bytes.
const limiting = 'test "$1" -eq 0 || ulimit -f "$1"; ulimit -c 0; shift'
const inShell = { child: `${limiting}; "$@"; exit $?`, itself: `${limiting}; exec "$@"` }

/**
 * Pure.
 * @param user       the user who runs the step; only for root
 * @param maxFileMb  no file may become larger; 0 for no limit
 */
export function confinedArgv(
  argv: readonly [string, ...string[]],
  { isNamespace }: Confinement,
  { user, maxFileMb }: { readonly user: OsUser | null; readonly maxFileMb: number },
): readonly [string, ...string[]] {
  const script = isNamespace ? inShell.child : inShell.itself
  const shell = ["sh", "-c", script, "step", String(maxFileMb * 2048), ...argv] as const
  if (!isNamespace) return shell
  const asUser = user ? [`--reuid=${user.uid}`, `--regid=${user.gid}`, "--clear-groups"] : []
  const ownNamespace = process.getuid?.() === 0 ? [] : ["--user", "--map-current-user"]
  return [
    ...["unshare", ...ownNamespace, "--mount", "--mount-proc", "--pid", "--fork", "--kill-child", "--"],
    // A change of user clears the parent-death signal, so it is set again. `no-new-privs` prevents root by `sudo`.
    ...["setpriv", ...asUser, "--no-new-privs", "--pdeathsig=KILL", "--"],
    // The limit counts all processes of a user, so it is set only where the step has a user of its own.
    ...(user ? ["prlimit", processesOption(), "--"] : []),
    ...shell,
  ] as [string, ...string[]]
}
