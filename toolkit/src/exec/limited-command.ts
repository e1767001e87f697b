/** Commands that the kernel limits: `prlimit` sets the limit for itself and then executes the command in the same process. */
import { accessSync, constants } from "node:fs"
import { delimiter, join } from "node:path"

/**
 * A command each of whose processes may use so much memory of its own; files that it only maps do not count. Beyond it the kernel refuses
 * more, and the program says so and exits. Where `prlimit` is not installed, the command is unchanged.
 * @param path  the `PATH` to search
 */
export function withMemoryLimit(
  argv: readonly [string, ...string[]],
  { memoryMb, path }: { readonly memoryMb: number; readonly path: string },
): [string, ...string[]] {
  const program = process.platform === "linux" ? findProgram("prlimit", path) : undefined
  if (program === undefined) return [...argv]
  return [program, `--data=${memoryMb * 1024 * 1024}`, "--core=0", "--", ...argv]
}

/** @param path  the `PATH` to search @returns  undefined when it is not installed, or we may not execute it */
export function findProgram(name: string, path: string): string | undefined {
  return path
    .split(delimiter)
    .map((folder) => join(folder, name))
    .find((file) => {
      try {
        accessSync(file, constants.X_OK)
        return true
      } catch {
        // Missing, or not executable for us: try the next folder.
        return false
      }
    })
}
