import assert from "node:assert/strict"
import { execFile } from "node:child_process"
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { test } from "node:test"
import { promisify } from "node:util"
import { temporaryFolder } from "../testing/temporary-folder.js"
import { isAlive, type ProcessIdentity } from "./process-identity.js"
import { spawnDetached } from "./spawn-detached.js"
import { stopProcess, untilGone } from "./stop-process.js"

const folderAndFile = () => {
  const cwd = temporaryFolder()
  return { cwd, outputFile: join(cwd, "output.log") }
}

test("a detached process survives the kill of its parent", async () => {
  const { cwd, outputFile } = folderAndFile()
  const command = { argv: ["/bin/sleep", "600"], cwd, env: {}, outputFile }
  const parent = `
    const { spawnDetached } = await import(${JSON.stringify(new URL("./spawn-detached.js", import.meta.url).href)})
    console.log(JSON.stringify(await spawnDetached(${JSON.stringify(command)})))
    process.kill(process.pid, "SIGKILL")`

  const killed = promisify(execFile)(process.execPath, ["--input-type=module", "--eval", parent])
  const { stdout, signal } = (await killed.catch((error: unknown) => error)) as { stdout: string; signal: string }
  const identity = JSON.parse(stdout) as ProcessIdentity

  assert.equal(signal, "SIGKILL")
  assert.equal(await isAlive(identity), true)
  if (process.platform === "linux") {
    const session = (await readFile(`/proc/${identity.pid}/stat`, "utf8")).split(" ")[5]
    assert.equal(Number(session), identity.pid, "it leads a session of its own")
  }
  await stopProcess(identity, { graceMs: 10_000 })
})

test("a detached process has exactly the environment that it is given, and its output is appended", async () => {
  const { cwd, outputFile } = folderAndFile()

  for (const word of ["one", "two"]) {
    const argv = ["/bin/sh", "-c", 'pwd; /usr/bin/env | grep -v "^PWD=\\|^_=\\|^SHLVL="; echo oops >&2'] as const
    const identity = await spawnDetached({ argv, cwd, env: { WORD: word }, outputFile })
    await untilGone(identity, 20_000)
  }

  assert.equal(await readFile(outputFile, "utf8"), `${cwd}\nWORD=one\noops\n${cwd}\nWORD=two\noops\n`)
})

test("a missing program is an error", async () => {
  const started = spawnDetached({ argv: ["/no/such/program"], ...folderAndFile(), env: {} })

  await assert.rejects(started, { code: "ENOENT" })
})

test("root can start a process as another user", { skip: process.getuid?.() !== 0 && "needs root" }, async () => {
  const { cwd, outputFile } = folderAndFile()
  const user = { uid: 65_534, gid: 65_534 }

  const identity = await spawnDetached({ argv: ["/bin/sh", "-c", "id -u; id -G"], cwd, env: {}, user, outputFile })
  await untilGone(identity, 20_000)

  assert.equal(await readFile(outputFile, "utf8"), "65534\n65534\n")
})
