/** A control plane that is replaced while the planner acts. */
import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { after, before, test } from "node:test"
import { machineFolders } from "@superstep/machines/parts/files/folders"
import { sql } from "@superstep/toolkit/db/sql"
import { until } from "@superstep/toolkit/testing/until"
import { type PlatformWithRepository, platformWithRepository } from "./testing/platform-with-repository.js"

// Longer than the test waits: only a kill ends the unit.
const settings = { SUPERSTEP_STOP_GRACE: "3600", SUPERSTEP_TIMEOUT_HANG: "3600", SUPERSTEP_STOP_ALL_ON_EXIT: "0" }

let platform: PlatformWithRepository
before(async () => {
  platform = await platformWithRepository()
})
after(() => platform[Symbol.asyncDispose]())

test("a control plane leaves its place though a unit that it stops has not ended, and its successor answers", {
  skip: process.platform !== "linux" && "reads which signals a process has not taken yet from /proc",
}, async () => {
  await platform.kill()
  const child = await platform.start(settings)
  const { deploymentId } = await platform.serveRepository()
  const row = await platform.db.row<{ unit_id: string }>(sql`select unit_id from units`)
  const identity = join(machineFolders(platform.home).units, row?.unit_id ?? "", "pid.json")
  const { pid } = JSON.parse(readFileSync(identity, "utf8")) as { pid: number }
  process.kill(pid, "SIGSTOP")
  await platform.call("POST", `/v2/deployments/${deploymentId}/pause`)
  await until(() => isAskedToEnd(pid), { what: "the unit is asked to end" })

  child.kill("SIGTERM")
  await until(() => child.exitCode !== null, { what: "the control plane has left" })
  const isUnitThere = isAskedToEnd(pid)
  await platform.start(settings)
  const { status } = await platform.call("GET", `/v2/deployments/${deploymentId}`)

  assert.deepEqual([child.exitCode, isUnitThere, status], [0, true, 200])
})

const sigterm = 1n << 14n

/** Whether a process that is suspended has got SIGTERM. */
function isAskedToEnd(pid: number): boolean {
  const pending = /^ShdPnd:\t([0-9a-f]+)$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? "0"
  return (BigInt(`0x${pending}`) & sigterm) !== 0n
}
