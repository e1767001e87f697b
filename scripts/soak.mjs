/** `npm run soak [-- options]`: compiles and soaks. `npm run soak -- --help` tells the options. */
import { spawn } from "node:child_process"
import { join } from "node:path"
import { explain, root, setUp } from "./setup.mjs"

async function soak() {
  await setUp()
  const main = join(root, "tests/dist/soak/main.js")
  const child = spawn(process.execPath, ["--enable-source-maps", main, ...process.argv.slice(2)], { stdio: "inherit" })
  // A terminal's Ctrl-C reaches the whole group, so the child has it already: this process only has to outlive it.
  process.on("SIGINT", () => undefined)
  for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal))
  child.once("error", explain)
  child.once("exit", (code, signal) => {
    process.exitCode = signal ? 1 : (code ?? 1)
  })
}

await soak().catch(explain)
