import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { existsSync } from "node:fs"
import test from "node:test"
import { processesLeftBehind, processesOf } from "./processes.mjs"

const withoutProc = existsSync("/proc/self/environ") ? false : "needs /proc"

test("a process that is left behind is found by its temporary folder, and is gone from the list when it ends", {
  skip: withoutProc,
}, async () => {
  const tmp = `/nowhere/${process.pid}`
  for (const env of [{ TMPDIR: tmp }, { TMPDIR: `${tmp}/own` }, { SOCKET: `unix:${tmp}/home/run/admin.sock` }]) {
    const child = spawn(process.execPath, ["-e", "process.stdin.resume(); console.log(1)"], { env })
    await new Promise((ready) => child.stdout.once("data", ready))

    const found = processesOf(tmp)
    child.kill()
    const left = await processesLeftBehind(tmp, 10_000)

    assert.deepEqual(
      found.map(({ pid }) => pid),
      [child.pid],
    )
    assert.deepEqual(left, [])
  }
})
