import assert from "node:assert/strict"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { isAlive } from "@superstep/toolkit/exec/process-identity"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { silent } from "@superstep/toolkit/testing/test-cluster"
import { until } from "@superstep/toolkit/testing/until"
import { type Child, startChild } from "./child.js"
import { restartDelayMs, supervise } from "./supervise.js"

function script(text: string): { script: string; cwd: string; logFile: string } {
  const cwd = temporaryFolder()
  writeFileSync(join(cwd, "program.mjs"), text)
  return { script: join(cwd, "program.mjs"), cwd, logFile: join(cwd, "log") }
}

test("the delay grows with each failure, up to ten seconds", () => {
  assert.deepEqual([1, 2, 3, 7, 50].map(restartDelayMs), [200, 400, 800, 10_000, 10_000])
})

test("a killed process is restarted, and its exit is reported", async () => {
  const started: Child[] = []
  const ends: string[] = []
  const command = script("setInterval(() => undefined, 1000)")
  const start = async () => {
    const child = await startChild({ ...command, env: {} })
    started.push(child)
    return child
  }
  const supervised = await supervise({ start, log: silent, onEnd: (exit) => ends.push(exit.words) })

  started[0]?.kill()
  const second = await until(() => started[1], { what: "a second process runs" })
  await supervised.stop(5000)

  assert.deepEqual(ends, ["was killed by SIGKILL"])
  assert.equal(await isAlive(second.identity), false)
  assert.equal(started.length, 2)
})

test("a process that does not exit is killed after its grace period", async () => {
  const command = script(
    "process.on('SIGTERM', () => undefined); setInterval(() => undefined, 1000); console.log('up')",
  )
  const lines: string[] = []
  const child = await startChild({
    script: command.script,
    cwd: command.cwd,
    env: {},
    onLine: (line) => lines.push(line),
  })
  await until(() => lines.includes("up"), { what: "it listens for signals" })

  await child.stop(50)

  assert.equal((await child.exited).words, "was killed by SIGKILL")
})
