/**
 * The disk with the platform's folder is full; it is a real file system of a few megabytes. A revision fails with a clear
 * code, running units go on, and once there is room again everything works.
 */
import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import { closeSync, openSync, rmSync, writeSync } from "node:fs"
import { join } from "node:path"
import { after, before, test } from "node:test"
import { setTimeout as pause } from "node:timers/promises"
import { sql } from "@superstep/toolkit/db/sql"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { until } from "@superstep/toolkit/testing/until"
import { unlessWide } from "@superstep/toolkit/testing/wide-tests"
import { type KilledPlatform, killedPlatform } from "./testing/killed-platform.js"
import { untilNothingIsLeft } from "./testing/leftovers.js"
import { smallProject } from "./testing/platform.js"

// A stage is retried after 5, 20 and 60 s.
const patienceMs = 300_000
const betweenRequestsMs = 250
const home = temporaryFolder()
const filler = join(home, "filler")
const mount = () => spawnSync("mount", ["-t", "tmpfs", "-o", "size=24m,mode=755", "tmpfs", home]).status === 0
const skip = unlessWide("a stage is tried again for a minute and a half") || !mount()
const why = skip === true ? "mounting a file system takes root and its capabilities" : skip

let platform: KilledPlatform
before(async () => {
  if (skip) return
  platform = await killedPlatform({ home })
  await platform.start()
})
after(async () => {
  if (skip) return
  try {
    rmSync(filler, { force: true })
    await platform[Symbol.asyncDispose]()
  } finally {
    assert.equal(spawnSync("umount", ["--lazy", home]).status, 0)
  }
})

/** Writes until the disk has no byte left. */
function fill(): void {
  const file = openSync(filler, "a")
  for (let size = 1024 * 1024; size > 0; ) {
    try {
      writeSync(file, Buffer.alloc(size))
    } catch (error) {
      assert.equal((error as NodeJS.ErrnoException).code, "ENOSPC")
      size = Math.floor(size / 2)
    }
  }
  closeSync(file)
}

const ask = () => fetch(`${platform.agentsUrl}/d/chat/env`, { headers: { "x-api-key": platform.apiKey } })
/** Sends requests to the agent while `work` runs. @returns  the statuses of the answers */
async function askedDuring<T>(work: Promise<T>): Promise<{ result: T; answers: ReadonlySet<number> }> {
  const answers = new Set<number>()
  let isOver = false
  const over = work.finally(() => {
    isOver = true
  })
  await until(
    async () => {
      answers.add((await ask()).status)
      await pause(betweenRequestsMs)
      return isOver
    },
    { what: "the revision has ended", timeoutMs: patienceMs },
  )
  return { result: await over, answers }
}
/** Deploys the repository's current code, and waits for the end. */
async function deployWith(change: Record<string, unknown> = {}) {
  const { deploymentId, call, untilEnded } = platform
  const body = { ...change, source_revision_config: { repo_ref: "main" } }
  const { body: patched } = await call("PATCH", `/v2/deployments/${deploymentId}`, body)
  return untilEnded(deploymentId, patched.latest_revision_id, patienceMs)
}

test("full before the code is fetched: the revision fails with disk_full, and agent and API go on", {
  skip: why,
}, async () => {
  platform.repository.commit({ ...smallProject, "n.txt": "another" })
  fill()
  const { result: revision, answers } = await askedDuring(deployWith())

  assert.deepEqual([revision.status, revision.error_code], ["BUILD_FAILED", "disk_full"], JSON.stringify(revision))
  assert.match(revision.status_message, /the platform's disk is full\. .*SUPERSTEP_HOME/)
  assert.deepEqual([...answers], [200])
  rmSync(filler)
  assert.equal((await deployWith()).status, "DEPLOYED")
  await untilNothingIsLeft(platform)
})

test("full while agents and the control plane run and end: with room again all are back, and logs go on", {
  skip: why,
}, async () => {
  const revisionId = await platform.revisionBehind()
  const lines = async () =>
    (
      await platform.db.rows(
        sql`select 1 from log_lines where revision_id = ${revisionId} and message = 'unit listens'`,
      )
    ).length
  const before = await lines()
  fill()
  // The fake unit prints to a log file on the full disk, and dies of the error.
  await fetch(`${platform.agentsUrl}/d/chat/say`, { headers: { "x-api-key": platform.apiKey } }).then(
    (reply) => reply.status,
    () => undefined,
  )
  await platform.kill()
  rmSync(filler)
  await platform.start()

  await until(async () => (await platform.revisionBehind()) === revisionId, { what: "the agent answers" })
  await until(async () => (await lines()) > before, { what: "the agent's log goes on" })
  await untilNothingIsLeft(platform)
})
