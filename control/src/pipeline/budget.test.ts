/** A database server with room for three units, with real processes: control plane, edge, fake units. */
import assert from "node:assert/strict"
import { after, before, test } from "node:test"
import { sql } from "@superstep/toolkit/db/sql"
import { until } from "@superstep/toolkit/testing/until"
import { unlessWide } from "@superstep/toolkit/testing/wide-tests"
import { type PlatformWithRepository, platformWithRepository } from "./testing/platform-with-repository.js"

const skip = unlessWide("takes half a minute")
let platform: PlatformWithRepository
let second: Awaited<ReturnType<PlatformWithRepository["deployRepository"]>>
before(async () => {
  if (skip) return
  // 12, and 6 for one more: the first half of the 24 is given generously.
  platform = await platformWithRepository({ SUPERSTEP_DATABASE_CONNECTIONS: "24", SUPERSTEP_IDLE_MINUTES: "0.01" })
})
after(() => platform?.[Symbol.asyncDispose]())

const deploy = (name: string, type: string) => platform.deployRepository({ name, config: { deployment_type: type } })
const limitOf = async (deploymentId: string) => {
  const row = await platform.db.row<{ limit: number }>(sql`
    select rolconnlimit as limit from pg_roles where rolname = ${`superstep_${deploymentId.replaceAll("-", "")}`}`)
  return row?.limit
}
const ask = (name: string) =>
  fetch(`${platform.agentsUrl}/d/${name}/env`, { headers: { "x-api-key": platform.apiKey } })
const untilAsleep = (deploymentId: string, replicas = 1) =>
  until(
    async () => {
      const rows = await platform.db.rows(sql`
        select from sleeps join units using (deployment_id) where deployment_id = ${deploymentId} and connections = 0`)
      return rows.length === replicas
    },
    { what: "it sleeps, and its connections are free" },
  )

test("connections are given out until there are none; a sleeper's are free, and it waits for its turn", {
  skip,
}, async () => {
  const sleeper = await deploy("sleeper", "dev_free")
  assert.equal(sleeper.revision.status, "DEPLOYED", JSON.stringify(sleeper.revision))
  await untilAsleep(sleeper.deploymentId)
  const first = await deploy("first", "dev")
  second = await deploy("second", "dev")
  const third = await deploy("third", "dev")

  const refused = await deploy("fourth", "dev")
  const answer = await until(
    async () => {
      const reply = await ask("sleeper")
      return reply.status === 503 && ((await reply.json()) as { code: string }).code
    },
    { what: "there is no room to wake it" },
  )

  assert.deepEqual(
    [first, second, third].map(({ revision }) => revision.status),
    ["DEPLOYED", "DEPLOYED", "DEPLOYED"],
  )
  assert.deepEqual([await limitOf(first.deploymentId), await limitOf(second.deploymentId)], [16, 10])
  assert.deepEqual([refused.revision.status, refused.revision.error_code], ["DEPLOY_FAILED", "capacity"])
  assert.match(refused.revision.status_message, /24 of 24 are given out[\s\S]*max_connections/)
  assert.equal(answer, "capacity")

  await platform.call("DELETE", `/v2/deployments/${third.deploymentId}`)
  await until(async () => (await ask("sleeper")).status === 200, { what: "it is awake" })
})
