/** A worker notices by its socket that its server died, unless user code holds its event loop for ever. */
import { existsSync } from "node:fs"

const setpriv = "/usr/bin/setpriv"

/** The command that lets the kernel kill a program when its parent dies, where Linux has one. */
export function endWithParent(command: readonly [string, ...string[]]): readonly [string, ...string[]] {
  if (process.platform !== "linux" || !existsSync(setpriv)) return command
  return [setpriv, "--pdeathsig=KILL", "--", ...command]
}
