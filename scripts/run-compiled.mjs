/**
 * Builds the repository and runs one of its compiled programs: `node scripts/run-compiled.mjs FILE [ARGUMENTS]`, as `npm run bench` and its neighbours do.
 * FILE is relative to the root. Exits with the program's exit code.
 */
import { spawn } from "node:child_process"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { explain, root, setUp } from "./setup.mjs"

/** @throws SetupFailed  the repository cannot be built */
export async function runCompiled(main, args) {
  await setUp()
  const child = spawn(process.execPath, ["--enable-source-maps", join(root, main), ...args], { stdio: "inherit" })
  // A terminal's Ctrl-C also reaches the child, which is in the same process group: this process only waits for its exit.
  process.on("SIGINT", () => undefined)
  for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal))
  process.exitCode = await new Promise((resolve, reject) => {
    child.once("error", reject)
    child.once("exit", (code, signal) => resolve(signal ? 1 : (code ?? 1)))
  })
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [main, ...args] = process.argv.slice(2)
  await runCompiled(main, args).catch(explain)
}
