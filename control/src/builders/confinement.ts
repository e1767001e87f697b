/**
 * Keeps a step and all that it starts together. On Linux a step is the first process of a namespace of its own: it sees
 * no process but its own, and whatever it started ends with it, also what made a session of its own and changed its
 * environment. Where the machine does not allow that (other systems, containers without the right), the process group
 * and the descendants that can be seen are all that is ended.
 */
import { execFile } from "node:child_process"
import { promisify } from "node:util"
import type { OsUser } from "@superstep/toolkit/exec/spawn-detached"
import { processesOption } from "../runtimes/limits.js"

export interface Confinement {
  readonly isNamespace: boolean
}

/** Asks the machine once, which takes about 20 ms. */
export async function findConfinement(environment: Readonly<Record<string, string>>): Promise<Confinement> {
  const user = process.getuid?.() === 0 ? { uid: 0, gid: 0 } : null
  const [program, ...args] = confinedArgv(["true"], { isNamespace: true }, { user, maxFileMb: 0 })
  return promisify(execFile)(program, args, { env: environment }).then(
    () => ({ isNamespace: true }),
    // Which of many reasons it is (no such program, no such right) changes nothing.
    () => ({ isNamespace: false }),
  )
}

// The first process of a namespace gets no signal that it does not handle and has to collect the ended, so the step is
// its child. POSIX counts the size of a file in blocks of 512 bytes.
const inShell = 'test "$1" -eq 0 || ulimit -f "$1"; ulimit -c 0; shift; "$@"; exit $?'

/**
 * Pure.
 * @param user       whom the step runs as; only for root
 * @param maxFileMb  no file may become larger; 0 for no limit
 */
export function confinedArgv(
  argv: readonly [string, ...string[]],
  { isNamespace }: Confinement,
  { user, maxFileMb }: { readonly user: OsUser | null; readonly maxFileMb: number },
): readonly [string, ...string[]] {
  const shell = ["sh", "-c", inShell, "step", String(maxFileMb * 2048), ...argv] as const
  if (!isNamespace) return shell
  const asUser = user ? [`--reuid=${user.uid}`, `--regid=${user.gid}`, "--clear-groups"] : []
  const ownNamespace = process.getuid?.() === 0 ? [] : ["--user", "--map-current-user"]
  return [
    ...["unshare", ...ownNamespace, "--mount", "--mount-proc", "--pid", "--fork", "--kill-child", "--"],
    // A change of user forgets whose death is to be followed, hence it is said again. Nobody becomes root by `sudo`.
    ...["setpriv", ...asUser, "--no-new-privs", "--pdeathsig=KILL", "--"],
    // By user, so only where the step has one of its own: else the numbers of processes of the whole machine run out.
    ...(user ? ["prlimit", processesOption(), "--"] : []),
    ...shell,
  ] as [string, ...string[]]
}
