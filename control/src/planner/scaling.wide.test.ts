/** Replicas by load, with real processes: control plane, edge, fake units that report a load. */
import assert from "node:assert/strict"
import { join } from "node:path"
import { test } from "node:test"
import { writeFakeReport } from "@superstep/machines/testing/fake-report"
import { sql } from "@superstep/toolkit/db/sql"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { until } from "@superstep/toolkit/testing/until"
import { platformWithRepository } from "../pipeline/testing/platform-with-repository.js"
import { shared } from "../testing/api.js"

const platform = shared(() => platformWithRepository({ SUPERSTEP_SCALE_DOWN_MINUTES: "0.01" }))

const short = { running_runs: 5, load: { free_slots: 0, waiting_ms: 3000, loop_utilization: 0.2 } }
const room = { running_runs: 1, load: { free_slots: 10, waiting_ms: null, loop_utilization: 0.1 } }

const ask = (name: string) =>
  fetch(`${platform.agentsUrl}/d/${name}/env`, { headers: { "x-api-key": platform.apiKey } })

/** A deployment whose units report the load that a file has. */
async function deploy(name: string, max_scale: number) {
  const file = join(temporaryFolder(), "load.json")
  const report = (load: object) => writeFakeReport(file, load)
  report(room)
  const config = { resource_spec: { min_scale: 1, max_scale } }
  const ids = await platform.serveRepository({ name, config, secrets: { FAKE_LOAD: file } })
  return { ...ids, report }
}

const servingUnits = async (deploymentId: string) =>
  (
    await platform.db.rows<{ is_up: boolean }>(sql`
      select u.is_ready and u.is_answering as is_up from units u join revisions r using (revision_id)
      where u.deployment_id = ${deploymentId} and r.role = 'serving'`)
  ).map(({ is_up }) => is_up)

const untilServedBy = (deploymentId: string, units: number) =>
  until(
    async () => {
      const up = await servingUnits(deploymentId)
      return up.length === units && up.every(Boolean)
    },
    { what: `${units} units serve` },
  )

const messagesOf = async (revisionId: string, words: string) =>
  (
    await platform.db.rows<{ message: string }>(sql`
      select message from log_lines where revision_id = ${revisionId} and message like ${`%${words}%`} order by log_line_id`)
  ).map(({ message }) => message)

test("a run that waits brings another unit, the next revision has as many, and one leaves when fewer are enough", async () => {
  const { deploymentId, revisionId, report } = await deploy("busy", 2)
  const statuses = new Set<number>()
  let isOver = false
  const asking = (async () => {
    while (!isOver) for (const reply of await Promise.all([ask("busy"), ask("busy")])) statuses.add(reply.status)
  })()

  report(short)
  await untilServedBy(deploymentId, 2)
  const { body } = await platform.call("PATCH", `/v2/deployments/${deploymentId}`, {
    secrets: [{ name: "ANOTHER", value: "1" }],
    secrets_mode: "merge",
  })
  await platform.untilEnded(deploymentId, body.latest_revision_id)
  const next = await servingUnits(deploymentId)
  report(room)
  await untilServedBy(deploymentId, 1)
  isOver = true
  await asking

  assert.equal(next.length, 2)
  assert.deepEqual([...statuses], [200])
  assert.deepEqual(await messagesOf(revisionId, "scaled"), ["scaled to 2 units: a run waited 3 s"])
  assert.deepEqual(await messagesOf(body.latest_revision_id, "scaled"), ["scaled to 1 unit: fewer have been enough"])
})

test("a quota that is used up keeps a deployment at its size, and the log says so", async () => {
  const { deploymentId, revisionId, report } = await deploy("bounded", 5)
  await platform.db.run(sql`
    insert into workspace_quotas (workspace_id, units) select workspace_id, 2 from deployments where deployment_id = ${deploymentId}`)

  report(short)
  await until(async () => (await messagesOf(revisionId, "not scaled up")).length > 0, { what: "the log says so" })

  assert.match(
    (await messagesOf(revisionId, "not scaled up"))[0] ?? "",
    /^not scaled up: the quota units of this workspace is 2/,
  )
  assert.equal((await servingUnits(deploymentId)).length, 1)
})
