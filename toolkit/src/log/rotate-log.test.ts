import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { closeSync, openSync, readdirSync, readFileSync, statSync, writeSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { temporaryFolder } from "../testing/temporary-folder.js"
import { until } from "../testing/until.js"
import { rotateLog } from "./rotate-log.js"

test("an open log is emptied, and its content replaces the former part", async () => {
  const folder = temporaryFolder()
  const path = join(folder, "out.log")
  const descriptor = openSync(path, "a")

  const written: string[] = []
  for (const part of ["first", "second", "third"]) {
    writeSync(descriptor, `${part} `.repeat(10))
    await rotateLog(path, 20)
    written.push(readFileSync(`${path}.1`, "utf8"))
  }
  writeSync(descriptor, "last\n")
  closeSync(descriptor)

  assert.deepEqual(written, ["first ".repeat(10), "second ".repeat(10), "third ".repeat(10)])
  assert.equal(readFileSync(path, "utf8"), "last\n", "without a hole of zeros before it")
  assert.deepEqual(readdirSync(folder).sort(), ["out.log", "out.log.1"])
})

test("the log of a process that writes constantly stays bounded, with complete lines in order", async () => {
  const path = join(temporaryFolder(), "out.log")
  const descriptor = openSync(path, "a")
  const script =
    "let n = 0; const write = () => { for (let i = 0; i < 50; i++) console.log('line ' + n++); setImmediate(write) }; write()"
  const writer = spawn(process.execPath, ["-e", script], { stdio: ["ignore", descriptor, "inherit"] })
  closeSync(descriptor)
  let rotated = 0
  try {
    await until(
      async () => {
        if (await rotateLog(path, 20_000)) rotated += 1
        return rotated === 5
      },
      { what: "it was rotated five times" },
    )
  } finally {
    writer.kill("SIGKILL")
    await once(writer, "close")
  }

  const numbers = readFileSync(`${path}.1`, "utf8")
    .split("\n")
    .slice(1, -1)
    .map((line) => Number(/^line (\d+)$/.exec(line)?.[1]))
  assert.ok(numbers.length > 100)
  assert.ok(
    numbers.every((number, index) => index === 0 || number === (numbers[index - 1] ?? 0) + 1),
    "no line of a part is missing or torn",
  )
  assert.ok(statSync(path).size < 10_000_000)
})
