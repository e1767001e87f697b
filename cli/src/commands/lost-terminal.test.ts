import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { after, test } from "node:test"
import { identify, isAlive, type ProcessIdentity } from "@superstep/toolkit/exec/process-identity"
import { stopProcess } from "@superstep/toolkit/exec/stop-process"
import { freePort } from "@superstep/toolkit/testing/free-port"
import { until } from "@superstep/toolkit/testing/until"
import { preparedFolder } from "../testing/prepared-folder.js"
import { mainScript } from "../testing/run-cli.js"

// From util-linux: runs a command on a terminal of its own.
const script = "/usr/bin/script"
const skip = process.platform === "linux" && existsSync(script) ? false : `there is no ${script} of util-linux`

const started: ProcessIdentity[] = []
after(async () => {
  for (const identity of started) await stopProcess(identity, { graceMs: 60_000 })
})

test("closing the terminal stops the installation in order", { skip }, async () => {
  const [port, agentsPort] = [await freePort(), await freePort()]
  const folder = await preparedFolder()
  const command = `exec '${process.execPath}' '${mainScript}' up --no-example --port ${port} --agents-port ${agentsPort}`
  const terminal = spawn(script, ["--quiet", "--flush", "--return", "--command", command, "/dev/null"], {
    cwd: folder,
    stdio: ["ignore", "pipe", "ignore"],
    detached: true,
  })
  let shown = ""
  terminal.stdout.setEncoding("utf8").on("data", (text: string) => {
    shown += text
  })
  const home = join(folder, ".superstep")
  await until(() => existsSync(join(home, "running.json")), { what: "it has begun" })
  const { owner } = JSON.parse(readFileSync(join(home, "running.json"), "utf8")) as { owner: ProcessIdentity }
  started.push(owner)
  await until(() => shown.includes("Data  "), { what: "the installation is up", timeoutMs: 60_000 })
  const postmaster = readFileSync(join(home, "postgres/data/postmaster.pid"), "utf8").split("\n")[0]
  const postgres = await identify(Number(postmaster))
  assert.ok(postgres)
  started.push(postgres)

  terminal.kill("SIGKILL")

  await until(async () => !(await isAlive(owner)), { what: "the command has ended", timeoutMs: 60_000 })
  assert.equal(await isAlive(postgres), false)
  assert.equal(existsSync(join(home, "running.json")), false)
})
