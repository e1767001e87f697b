/** A project in Python runs without any preparation. */
import assert from "node:assert/strict"
import { execFile } from "node:child_process"
import { existsSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { promisify } from "node:util"
import { freePort } from "@superstep/toolkit/testing/free-port"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { unlessWide } from "@superstep/toolkit/testing/wide-tests"
import { printedCurl } from "../testing/printed-curl.js"
import { interrupt, runCli, startCli, untilPrinted } from "../testing/run-cli.js"

const skip =
  unlessWide("it installs packages of PyPI") ||
  (!process.env.SUPERSTEP_TEST_PYTHON && "no Python with langgraph: .ci/run installs it and sets SUPERSTEP_TEST_PYTHON")

/** The Python on PATH has no packages, whatever is installed on this machine. */
async function startDev(cwd: string) {
  const python = join(temporaryFolder(), "python")
  await promisify(execFile)("python3", ["-m", "venv", "--without-pip", python])
  const PATH = `${join(python, "bin")}:${process.env.PATH}`
  return startCli(["dev", "--port", String(await freePort())], { cwd, env: { SUPERSTEP_WORKERS: "1", PATH } })
}

test("superstep dev installs what a new project in Python needs, once, and streams its answer", { skip }, async () => {
  const parent = temporaryFolder()
  await runCli(["new", "agent", "--python"], { cwd: parent })
  const cwd = join(parent, "agent")
  const running = await startDev(cwd)
  await untilPrinted(running, "  Try ", 180_000)

  const { stdout } = await promisify(execFile)("sh", ["-c", printedCurl(running.lines)])
  const { code, stderr } = await interrupt(running)

  assert.match(stdout, /^event: end\ndata: .*"status":"success"/m)
  assert.ok(existsSync(join(cwd, ".venv/bin/python")))
  assert.equal(code, 0, stderr)
})

test("packages that cannot be installed end the start with the installer's words, and leave nothing", {
  skip,
}, async () => {
  const parent = temporaryFolder()
  await runCli(["new", "agent", "--python"], { cwd: parent })
  const cwd = join(parent, "agent")
  writeFileSync(join(cwd, "requirements.txt"), "no-such-package-of-superstep==9\n")

  const { code, stderr } = await (await startDev(cwd)).ended

  assert.equal(code, 1)
  assert.match(stderr, /Python packages could not be installed: [\s\S]*no-such-package-of-superstep/)
  assert.equal(existsSync(join(cwd, ".venv")), false)
})
