import assert from "node:assert/strict"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { until } from "@superstep/toolkit/testing/until"
import { startChild } from "./child.js"
import { restartDelayMs } from "./supervise.js"

function script(text: string): { script: string; cwd: string; logFile: string } {
  const cwd = temporaryFolder()
  writeFileSync(join(cwd, "program.mjs"), text)
  return { script: join(cwd, "program.mjs"), cwd, logFile: join(cwd, "log") }
}

test("the delay grows with each failure, up to ten seconds", () => {
  assert.deepEqual([1, 2, 3, 7, 50].map(restartDelayMs), [200, 400, 800, 10_000, 10_000])
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
