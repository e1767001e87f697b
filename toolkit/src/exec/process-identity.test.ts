import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { basename } from "node:path"
import { test } from "node:test"
import { commandLine, identify, isAlive } from "./process-identity.js"

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

test("a running process is alive and an ended one is not", async () => {
  const { pid, end } = await startWaiting("")
  const identity = await identify(pid)
  assert.ok(identity)

  const before = await isAlive(identity)
  await end()

  assert.equal(before, true)
  assert.equal(await isAlive(identity), false)
  assert.equal(await identify(pid), undefined)
})

test("another process with the same pid has a different identity", async () => {
  const identity = await identify(process.pid)
  assert.ok(identity)

  assert.equal(await isAlive(identity), true)
  assert.equal(await isAlive({ ...identity, startTicks: identity.startTicks + 1 }), false)
  assert.equal(await isAlive({ ...identity, bootId: "another boot" }), false)
})

test("brackets and blanks in a program's name do not affect reading its start time", async () => {
  const { pid, end } = await startWaiting('process.title = "a) S (b 1 2"')

  const identity = await identify(pid)
  const own = await identify(process.pid)

  assert.ok(identity && own && identity.startTicks >= own.startTicks)
  await end()
})

test("a command line has the arguments that a process was started with", async () => {
  const line = (await commandLine(process.pid)) ?? ""

  assert.equal(basename(line), basename(process.argv[1] ?? ""))
})
