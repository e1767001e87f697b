/** `npm start`: prepares the clone and starts Superstep; in a fresh clone the console follows. Arguments are passed to `superstep up`. */
import { spawn } from "node:child_process"
import { join } from "node:path"
import { setImmediate } from "node:timers/promises"
import { problemBefore } from "./early-checks.mjs"
import { explain, root, SetupFailed, setUp } from "./setup.mjs"

// One Ctrl-C arrives twice: from the terminal, which signals the whole process group, and from npm, which forwards it. A
// second Ctrl-C of the user, which means "stop now", comes later than this.
const sameSignalMs = 500

async function start() {
  const startedAt = Date.now()
  const problem = await problemBefore(process.argv.slice(2))
  if (problem) throw new SetupFailed(problem)
  await setUp({ toStart: true, consoleLater: true })
  const main = join(root, "cli/programs/main.js")
  // In a session of its own it gets each signal once, from this process, whether a terminal or `kill` sent it.
  const args = ["up", "--npm-start-at", String(startedAt), ...process.argv.slice(2)]
  const child = spawn(process.execPath, [main, ...args], { stdio: "inherit", detached: true })
  const stopping = new AbortController()
  let lastAt = Number.NEGATIVE_INFINITY
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
    process.on(signal, () => {
      const isNew = performance.now() - lastAt > sameSignalMs
      lastAt = performance.now()
      if (isNew) child.kill(signal)
      stopping.abort()
    })
  }
  child.once("error", explain)
  child.once("exit", (code, signal) => {
    process.exitCode = signal ? 1 : (code ?? 1)
    stopping.abort()
  })
  await setUp({ toStart: true, background: stopping.signal }).catch(async (error) => {
    // A terminal's Ctrl-C also ends the bundler, whose end may be seen before our own signal.
    await setImmediate()
    if (stopping.signal.aborted) return
    explain(error)
    process.stderr.write("everything but the console works; the next npm start prepares it again\n")
  })
}

await start().catch(explain)
