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

test("SIGUSR1 opens no inspector in a program of ours, also one that was started without options, and it goes on", async () => {
  const module = new URL("./own-program.js", import.meta.url).href
  const later = `import(${JSON.stringify(module)}).then((own) => { own.ignoreInspectorSignal(); ${program} })`

  const [usual, own, ignoring] = await Promise.all([
    started(["--inspect-port=0"]),
    started(ownNodeOptions),
    started(["--inspect-port=0"], later),
  ])

  assert.match(usual.out, /^ws:\/\/127\.0\.0\.1:/)
  for (const { out, code } of [own, ignoring]) assert.deepEqual([out, code], ["none", 0])
  assert.doesNotMatch(own.err, /Debugger listening/)
})
