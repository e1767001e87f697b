import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { existsSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { identify, isAlive, type ProcessIdentity } from "@superstep/toolkit/exec/process-identity"
import { groupMembers } from "@superstep/toolkit/exec/process-tree"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { until } from "@superstep/toolkit/testing/until"
import { runCli } from "../testing/run-cli.js"
import { openHome } from "./home.js"
import { isOwned, takeOwnership } from "./owner.js"

/** In its own process group, as a child of a program has it. */
async function idleProcess(script = "setInterval(() => undefined, 1000)"): Promise<ProcessIdentity> {
  const { pid } = spawn(process.execPath, ["-e", script], { stdio: "ignore", detached: true })
  return until(async () => (pid === undefined ? undefined : await identify(pid)), { what: "the process runs" })
}

test("a folder that another program uses is refused", async () => {
  const home = await openHome(join(temporaryFolder(), "home"))
  const ownership = await takeOwnership(home, "superstep up")

  const second = await runCli(["up", "--home", home.folder], { cwd: temporaryFolder() })
  await ownership[Symbol.asyncDispose]()

  assert.equal(second.code, 1)
  assert.match(
    second.stderr,
    new RegExp(`superstep up is already running on .* \\(process ${process.pid}\\): stop it first`),
  )
  assert.equal(await isOwned(home), false)
})

test("of many starters that find a killed owner at the same time, one gets the folder", async () => {
  const home = await openHome(join(temporaryFolder(), "home"))
  const dead = await idleProcess()
  process.kill(dead.pid, "SIGKILL")
  await until(async () => !(await isAlive(dead)), { what: "the owner is gone" })
  const entry = JSON.stringify({ command: "superstep up", owner: dead })
  writeFileSync(home.owner, entry)
  // One more was killed while it took the folder over.
  writeFileSync(`${home.owner}.takeover`, entry)

  const taken = await Promise.allSettled(Array.from({ length: 12 }, () => takeOwnership(home, "superstep up")))

  assert.equal(taken.filter(({ status }) => status === "fulfilled").length, 1)
  assert.equal(await isOwned(home), true)
  assert.equal(existsSync(`${home.owner}.takeover`), false)
})

const readsProc = process.platform === "linux" ? false : "the processes of a group are read from /proc"

test("the child of a killed owner is killed when the folder is taken over, with the process that it has started", {
  skip: readsProc,
}, async () => {
  const home = await openHome(join(temporaryFolder(), "home"))
  const child = await idleProcess('require("node:child_process").spawn("sleep", ["600"])')
  const grandchild = await until(
    async () => {
      const pid = groupMembers(child.pid).find((it) => it !== child.pid)
      return pid === undefined ? undefined : await identify(pid)
    },
    { what: "the child has started a process" },
  )
  const owner = await idleProcess()
  writeFileSync(home.owner, JSON.stringify({ command: "superstep up", owner, child }))
  process.kill(owner.pid, "SIGKILL")
  await until(async () => !(await isAlive(owner)), { what: "the owner is gone" })

  await using _ownership = await takeOwnership(home, "superstep up")

  assert.equal(await isAlive(child), false)
  assert.equal(await isAlive(grandchild), false)
  assert.equal(await isOwned(home), true)
})
