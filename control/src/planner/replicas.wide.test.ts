/** Several units of one revision, with real processes: control plane, edge, fake units. */
import assert from "node:assert/strict"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { sql } from "@superstep/toolkit/db/sql"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { until } from "@superstep/toolkit/testing/until"
import { platformWithRepository } from "../pipeline/testing/platform-with-repository.js"
import { shared } from "../testing/api.js"

const platform = shared(() => platformWithRepository({ SUPERSTEP_WATCH: "60" }))

const unitsOf = (revisionId: string) =>
  platform.db.rows<{ unit_id: string; ordinal: number; role: string }>(sql`
    select unit_id, ordinal, role from units join revisions using (revision_id) where revision_id = ${revisionId} order by ordinal`)
const pidOf = (unitId: string): number =>
  (JSON.parse(readFileSync(join(platform.home, "units", unitId, "pid.json"), "utf8")) as { pid: number }).pid
const ask = (name: string) => fetch(`${platform.agentsUrl}/d/${name}/ok`)

test("a replica that is slow to tell that it works is not stopped when another one has woken their deployment", async () => {
  const busy = join(temporaryFolder(), "busy")
  writeFileSync(busy, "")
  const config = { resource_spec: { min_scale: 2 } }
  const { deploymentId, revisionId } = await platform.serveRepository({
    name: "two",
    config,
    secrets: { FAKE_BUSY: busy },
  })
  const [slow] = await unitsOf(revisionId)
  assert.ok(slow)
  const pid = pidOf(slow.unit_id)
  const slowIs = async (state: ReturnType<typeof sql>) =>
    (await platform.db.row(sql`select from units where unit_id = ${slow.unit_id} and ${state}`)) !== undefined

  process.kill(pid, "SIGSTOP")
  const isAwake = async () =>
    (await platform.db.rows(sql`select from sleeps where deployment_id = ${deploymentId}`)).length === 0
  // The other one may wake the deployment before the planner has looked at the slow one: then it falls asleep again.
  await until(
    async () => {
      await platform.db.run(sql`insert into sleeps (deployment_id) values (${deploymentId}) on conflict do nothing`)
      return slowIs(sql`not is_ready`)
    },
    { what: "the slow one is asked whether it is in use" },
  )
  await until(isAwake, { what: "the other one is back" })
  process.kill(pid, "SIGCONT")
  await until(() => slowIs(sql`is_ready`), { what: "it has requests again" })

  assert.equal(pidOf(slow.unit_id), pid)
})

test("a unit that uses more memory than its limit is ended and comes back, and the log says why", async () => {
  const ids = await platform.serveRepository({
    name: "hungry",
    config: { resource_spec: { memory_mb: 200, memory_limit_mb: 200 } },
    secrets: { FAKE_EATS_LATER_MB: "300" },
  })
  const unit = async () => {
    const [row] = await platform.db.rows<{
      last_end: string
      crashes: number
      is_down: boolean
      is_ready: boolean
    }>(sql`
      select last_end, crashes, is_down, is_ready from units where deployment_id = ${ids.deploymentId}`)
    return row
  }
  const path = `/v1/projects/${ids.deploymentId}/revisions/${ids.revisionId}/deploy_logs`

  await fetch(`${platform.agentsUrl}/d/hungry/eat`, { headers: { "x-api-key": platform.apiKey } })
  await until(async () => (await unit())?.crashes === 1, { what: "it is ended for its memory" })
  await until(async () => (await unit())?.is_down === false, { what: "it is started again" })

  const { body } = await platform.call("POST", path, { order: "asc", limit: 100 })
  const said = body.logs
    .map(({ message }: { message: string }) => message)
    .filter((it: string) => /oom_killed/.test(it))
  assert.equal(said.length, 1)
  // The kernel grants no more than the limit; a look finds what was taken beyond it.
  assert.match(said[0], /(wanted|used \d+ MB,) more than its limit of 200 MB/)
  assert.equal((await unit())?.last_end, "oom_killed")
  await until(async () => (await ask("hungry")) !== undefined && (await unit())?.is_ready, { what: "it answers again" })
})
