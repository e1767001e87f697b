/** Processes that cannot get more rights than they start with. */
import { findProgram } from "@superstep/toolkit/exec/limited-command"

/**
 * A command whose processes never get more rights than they start with: `sudo` and other programs that run as their owner do not, whoever
 * starts them. `setpriv` then executes the command in the same process. Where it is not installed, the command is unchanged.
 * @param path  the `PATH` to search
 */
export function withoutNewPrivileges(argv: readonly [string, ...string[]], path: string): [string, ...string[]] {
  const program = process.platform === "linux" ? findProgram("setpriv", path) : undefined
  return program === undefined ? [...argv] : [program, "--no-new-privs", "--", ...argv]
}
