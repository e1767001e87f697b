/** Programs that must not outlive the process that started them. */
import { existsSync } from "node:fs"

/** Changes rights of a process; part of util-linux. */
export const setpriv = "/usr/bin/setpriv"

/**
 * Wraps a command so that the kernel signals the program when its parent dies, even by `kill -9`: on Linux with `setpriv`,
 * elsewhere it changes nothing.
 */
export function endWithParent(
  command: readonly [string, ...string[]],
  signal: "KILL" | "TERM" | "INT" = "KILL",
): readonly [string, ...string[]] {
  if (process.platform !== "linux" || !existsSync(setpriv)) return command
  return [setpriv, `--pdeathsig=${signal}`, "--", ...command]
}
