/** `npm start`: sets the clone up and starts Superstep. Arguments go on to `superstep up`. */
import { spawn } from "node:child_process"
import { join } from "node:path"
import { problemBefore } from "./look-first.mjs"
import { explain, root, SetupFailed, setUp } from "./setup.mjs"

// One Ctrl-C comes twice: from the terminal to the whole group, and from npm, which passes it on. A person's second
// one, which means "now", comes later than this.
const sameSignalMs = 500

async function start() {
  const problem = await problemBefore(process.argv.slice(2))
  if (problem) throw new SetupFailed(problem)
  await setUp()
  const main = join(root, "cli/dist/main.js")
  // In a session of its own it gets each signal once, from here, whether a terminal sent it or `kill`.
  const child = spawn(process.execPath, [main, "up", ...process.argv.slice(2)], { stdio: "inherit", detached: true })
  let lastAt = Number.NEGATIVE_INFINITY
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
    process.on(signal, () => {
      const isNew = performance.now() - lastAt > sameSignalMs
      lastAt = performance.now()
      if (isNew) child.kill(signal)
    })
  }
  child.once("error", explain)
  child.once("exit", (code, signal) => {
    process.exitCode = signal ? 1 : (code ?? 1)
  })
}

await start().catch(explain)
