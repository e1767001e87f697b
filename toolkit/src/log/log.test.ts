import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync, openSync } from "node:fs"
import { test } from "node:test"

const program = `
  const { createLog } = await import(${JSON.stringify(new URL("./log.js", import.meta.url).href)})
  const log = createLog({ process: "test", level: "info" })
  for (let line = 0; line < 5000; line++) log.info({ text: "x".repeat(500) }, "the disk is full")
  process.stderr.write("goes on")`

test("a full disk does not stop a process that logs", {
  skip: existsSync("/dev/full") ? false : "this system has no /dev/full",
}, async () => {
  const child = spawn(process.execPath, ["--input-type=module", "--eval", program], {
    stdio: ["ignore", openSync("/dev/full", "w"), "pipe"],
  })
  let said = ""
  child.stderr?.on("data", (chunk: Buffer) => {
    said += chunk.toString()
  })

  const [code] = await once(child, "close")

  assert.deepEqual([code, said], [0, "goes on"])
})
