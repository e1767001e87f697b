/** The wheel in an environment of Python, on a machine without Node. */
import assert from "node:assert/strict"
import { execFile, execFileSync, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdirSync, symlinkSync } from "node:fs"
import { delimiter, join } from "node:path"
import { test } from "node:test"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { freePort } from "@superstep/toolkit/testing/free-port"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { until } from "@superstep/toolkit/testing/until"
import { testPython, withoutPython } from "./testing/languages.js"

const run = promisify(execFile)
const script = fileURLToPath(new URL("../../scripts/wheel.py", import.meta.url))

/** A folder of programs that has a shell and a Python, and no Node. */
function programsWithoutNode(): string {
  const folder = join(temporaryFolder(), "bin")
  mkdirSync(folder)
  symlinkSync("/bin/sh", join(folder, "sh"))
  symlinkSync(
    execFileSync(testPython, ["-c", "import sys; print(sys._base_executable)"]).toString().trim(),
    join(folder, "python3"),
  )
  return folder
}

test("the wheel in a new environment makes a project in Python, which streams its answer without Node on the PATH", {
  skip: withoutPython,
}, async () => {
  const folder = temporaryFolder()
  const { stdout } = await run(testPython, [script, join(folder, "wheel")], { maxBuffer: 64 * 1024 * 1024 })
  const environment = join(folder, "venv")
  await run(testPython, ["-m", "venv", environment])
  const pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
  await run(join(environment, "bin/python"), [...pip, stdout.trim()])
  const superstep = join(environment, "bin/superstep")
  const path = [join(environment, "bin"), programsWithoutNode()].join(delimiter)
  const { SUPERSTEP_TEST_PYTHON: _, NODE_TEST_CONTEXT: __, ...inherited } = process.env
  const env = { ...inherited, PATH: path, SUPERSTEP_WORKERS: "1" }
  const port = await freePort()

  const made = await run(superstep, ["new", "--python", "a"], { cwd: folder, env })
  const dev = spawn(superstep, ["dev", "--port", `${port}`], {
    cwd: join(folder, "a"),
    env,
    stdio: ["ignore", "pipe", "pipe"],
  })
  let printed = ""
  for (const output of [dev.stdout, dev.stderr]) output.setEncoding("utf8").on("data", (text) => (printed += text))
  const isUp = () => {
    assert.equal(dev.exitCode, null, printed)
    return printed.includes("  Try ")
  }
  await until(isUp, { what: "the server is up", timeoutMs: 180_000 })
  const body = {
    assistant_id: "chat",
    input: { messages: [{ role: "user", content: "Hello!" }] },
    stream_mode: ["messages-tuple"],
  }
  const reply = await fetch(`http://127.0.0.1:${port}/runs/stream`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  })
  const stream = await reply.text()
  dev.kill("SIGINT")
  const [code] = await once(dev, "exit")

  assert.match(made.stdout, /^ {2}superstep dev$/m)
  assert.match(stream, /^event: messages\ndata: \[\{"content":"Hello! "/m)
  assert.match(stream, /^event: end\ndata: .*"status":"success"/m)
  assert.equal(code, 0, printed)
})
