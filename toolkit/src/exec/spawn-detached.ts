/** Starts a process that outlives its parent and is independent of the parent's terminal and environment. */
import { spawn } from "node:child_process"
import { open } from "node:fs/promises"
import { identifyNewChild, type ProcessIdentity } from "./process-identity.js"

/** The operating system's user that a process runs as; only root may name another than its own. */
export interface OsUser {
  readonly uid: number
  readonly gid: number
}

export interface DetachedCommand {
  /** Program and arguments; no shell reads them. */
  readonly argv: readonly [string, ...string[]]
  readonly cwd: string
  /** The whole environment of the process: nothing is inherited. */
  readonly env: Readonly<Record<string, string>>
  readonly user?: OsUser | undefined
  /**
   * Standard output and error are appended to this file, or go where ours go when it is undefined. A pipe would break when
   * its reader dies.
   */
  readonly outputFile: string | undefined
  /** Open descriptors of ours that the process gets as its 3, 4 and so on. */
  readonly extraDescriptors?: readonly number[] | undefined
}

/**
 * Starts the command in a session of its own (a terminal's Ctrl-C does not reach it) with standard input closed.
 * The event loop does not wait for it.
 * @returns  its identity; it may have ended already
 * @throws   the system's error when the program cannot be started (ENOENT, EACCES)
 */
export async function spawnDetached(command: DetachedCommand): Promise<ProcessIdentity> {
  const { argv, cwd, env, user, outputFile, extraDescriptors = [] } = command
  const [program, ...args] = argv
  await using output = outputFile === undefined ? undefined : await open(outputFile, "a", 0o640)
  const child = spawn(program, args, {
    cwd,
    env,
    ...user,
    detached: true,
    stdio: ["ignore", output?.fd ?? "inherit", output?.fd ?? "inherit", ...extraDescriptors],
  })
  child.unref()
  if (child.pid !== undefined) return await identifyNewChild(child.pid)
  throw await new Promise<Error>((resolve) => child.once("error", resolve))
}
