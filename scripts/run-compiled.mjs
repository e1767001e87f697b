/** Builds the repository and runs one of its compiled programs with the arguments of the command line. */
import { spawn } from "node:child_process"
import { join } from "node:path"
import { root, setUp } from "./setup.mjs"

/**
 * Exits with the program's exit code.
 * @param main  the compiled file, relative to the root
 * @throws SetupFailed  the repository cannot be built
 */
export async function runCompiled(main) {
  await setUp()
  const args = ["--enable-source-maps", join(root, main), ...process.argv.slice(2)]
  const child = spawn(process.execPath, args, { stdio: "inherit" })
  // A terminal's Ctrl-C also reaches the child, which is in the same process group: this process only waits for its exit.
  process.on("SIGINT", () => undefined)
  for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal))
  process.exitCode = await new Promise((resolve, reject) => {
    child.once("error", reject)
    child.once("exit", (code, signal) => resolve(signal ? 1 : (code ?? 1)))
  })
}
