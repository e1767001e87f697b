/** Compiles the repository and runs one of its programs with the words of the command line. */
import { spawn } from "node:child_process"
import { join } from "node:path"
import { root, setUp } from "./setup.mjs"

/**
 * Ends as the program does.
 * @param main  the compiled file, relative to the root
 * @throws SetupFailed  when the repository cannot be compiled; what keeps the program from starting
 */
export async function runCompiled(main) {
  await setUp()
  const args = ["--enable-source-maps", join(root, main), ...process.argv.slice(2)]
  const child = spawn(process.execPath, args, { stdio: "inherit" })
  // A terminal's Ctrl-C reaches the whole group, so the child has it already: this process only has to outlive it.
  process.on("SIGINT", () => undefined)
  for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal))
  process.exitCode = await new Promise((resolve, reject) => {
    child.once("error", reject)
    child.once("exit", (code, signal) => resolve(signal ? 1 : (code ?? 1)))
  })
}
