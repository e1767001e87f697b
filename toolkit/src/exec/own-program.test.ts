import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { text } from "node:stream/consumers"
import { test } from "node:test"
import { ownNodeOptions } from "./own-program.js"

/** Waits until its inspector listens, for a second at most, and prints its address. */
const program = `
  const { url } = require("node:inspector")
  process.kill(process.pid, "SIGUSR1")
  const look = (times) => (url() || times === 0 ? console.log(url() ?? "none") : setTimeout(look, 10, times - 1))
  look(100)`

async function started(
  options: readonly string[],
  code = program,
): Promise<{ out: string; err: string; code: number | null }> {
  const child = spawn(process.execPath, [...options, "-e", code], { stdio: ["ignore", "pipe", "pipe"] })
  const exited = new Promise<number | null>((resolve) => child.once("exit", resolve))
  const [out, err, exit] = await Promise.all([text(child.stdout), text(child.stderr), exited])
  return { out: out.trim(), err, code: exit }
}

test("SIGUSR1 opens no inspector in a program of ours, which goes on", async () => {
  const [usual, own] = await Promise.all([started(["--inspect-port=0"]), started(ownNodeOptions)])

  assert.match(usual.out, /^ws:\/\/127\.0\.0\.1:/)
  assert.deepEqual([own.out, own.code], ["none", 0])
  assert.doesNotMatch(own.err, /Debugger listening/)
})

test("nor in one that was started without options", async () => {
  const module = new URL("./own-program.js", import.meta.url).href
  const later = `import(${JSON.stringify(module)}).then((own) => { own.ignoreInspectorSignal(); ${program} })`
  const { out, code } = await started(["--inspect-port=0"], later)

  assert.deepEqual([out, code], ["none", 0])
})
