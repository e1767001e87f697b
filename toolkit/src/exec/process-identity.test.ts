import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { test } from "node:test"
import { identify } from "./process-identity.js"

/** A process that waits until its input ends. */
async function startWaiting(script: string) {
  const child = spawn(process.execPath, ["--eval", `${script}; console.log("up"); process.stdin.resume()`])
  await once(child.stdout, "data")
  const pid = child.pid ?? assert.fail("it did not start")
  const end = async () => {
    const closed = once(child, "close")
    child.stdin.end()
    await closed
  }
  return { pid, end }
}

test("brackets and blanks in a program's name do not affect reading its start time", async () => {
  const { pid, end } = await startWaiting('process.title = "a) S (b 1 2"')

  const identity = await identify(pid)
  const own = await identify(process.pid)

  assert.ok(identity && own && identity.startTicks >= own.startTicks)
  await end()
})
