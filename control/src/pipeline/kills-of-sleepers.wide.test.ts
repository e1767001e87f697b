/** Kills the control plane outside of rollouts: between two effects of sleep, waking, retention, uploads and rollback. */
import assert from "node:assert/strict"
import { existsSync, readdirSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { sql } from "@superstep/toolkit/db/sql"
import { until } from "@superstep/toolkit/testing/until"
import { unlessLong } from "@superstep/toolkit/testing/wide-tests"
import { tarGz } from "../sources/testing/tar-gz.js"
import { shared } from "../testing/api.js"
import { killedPlatform } from "./testing/killed-platform.js"
import { untilNothingIsLeft } from "./testing/leftovers.js"
import { deploymentOf, smallProject } from "./testing/platform.js"

const platform = shared(() => killedPlatform())

const remove = async (deploymentId: string) => {
  await platform.call("DELETE", `/v2/deployments/${deploymentId}`)
  const isGone = async () => (await platform.call("GET", `/v2/deployments/${deploymentId}`)).status === 404
  await until(isGone, { what: "the deployment is gone" })
  await untilNothingIsLeft(platform)
  await platform.kill()
}

const ask = (name: string) =>
  fetch(`${platform.agentsUrl}/d/${name}/env`, { headers: { "x-api-key": platform.apiKey } })

// Half a second without a request.
const sleepy = { SUPERSTEP_IDLE_MINUTES: "0.01" }
const ofSleep = ["sleep:after-hold", "sleep:after-row", "sleep:after-stop", "wake:after-row", "wake:after-start"]
for (const [index, point] of ofSleep.entries()) {
  const skip = index > 0 && unlessLong("the first is between a row and the edge")
  test(`killed at ${point}: a deployment that sleeps or wakes answers the next request`, { skip }, async () => {
    const name = `sleeper-${index}`
    await platform.start()
    const config = { deployment_type: "dev_free" }
    const { deploymentId, revisionId } = await platform.deploy(deploymentOf(platform.repository.url, { name, config }))
    const { status } = await platform.untilEnded(deploymentId, revisionId)
    assert.equal(status, "DEPLOYED")
    await platform.kill()
    const isAsleep = async () => {
      const unit = await platform.db.row<{ unit_id: string }>(sql`
        select unit_id from units join sleeps using (deployment_id) where deployment_id = ${deploymentId}`)
      return unit !== undefined && !existsSync(join(platform.home, "units", unit.unit_id, "pid.json"))
    }

    await platform.start({ ...sleepy, SUPERSTEP_CRASH_AT: point })
    let asked: Promise<number> | undefined
    if (point.startsWith("wake:")) {
      await until(isAsleep, { what: "it sleeps" })
      asked = ask(name).then((reply) => reply.status)
    }
    await platform.untilDead()
    await platform.start()

    // It waits in the edge, which stays alive.
    if (asked) assert.equal(await asked, 200)
    await until(async () => (await ask(name)).status === 200, { what: "it answers" })
    await remove(deploymentId)
  })
}

test("killed at retention:after-row: the artifact's folder goes after the restart", async () => {
  await platform.start()
  const revisionId = await platform.change()
  await platform.untilEnded(platform.deploymentId, revisionId)
  await untilNothingIsLeft(platform)
  await platform.kill()
  const artifacts = () => readdirSync(join(platform.home, "artifacts")).length
  const before = artifacts()
  // Younger artifacts stay: a rollback may have made them wanted again.
  await platform.db.run(sql`update artifacts set created_at = now() - interval '2 hours'`)

  await platform.start({ SUPERSTEP_KEEP_ARTIFACTS: "1", SUPERSTEP_CRASH_AT: "retention:after-row" })
  await platform.untilDead()
  assert.equal(artifacts(), before, "the row goes first")
  await platform.start()

  await until(() => artifacts() < before, { what: "its folder is gone" })
  await untilNothingIsLeft(platform)
  await platform.kill()
})

for (const [index, point] of ["upload:after-row", "upload:after-receive"].entries()) {
  const skip = index > 0 && unlessLong("the first is the one within the transaction")
  test(`killed at ${point}: the archive is sent once more to its address, and deployed`, { skip }, async () => {
    await platform.start({ SUPERSTEP_CRASH_AT: point })
    const made = await platform.call("POST", "/v2/deployments", {
      name: `uploaded-${index}`,
      source: "internal_source",
      source_config: { deployment_type: "dev" },
      source_revision_config: {},
    })
    const { id } = made.body
    const { body: offered } = await platform.call("POST", `/v2/deployments/${id}/upload-url`)
    const archive = tarGz(Object.entries(smallProject).map(([path, content]) => ({ path, content })))
    const send = () => fetch(offered.upload_url, { method: "PUT", body: new Uint8Array(archive) })
    await assert.rejects(send(), "it died")
    await platform.untilDead()

    await platform.start()
    assert.equal((await send()).status, 200)
    const { body: patched } = await platform.call("PATCH", `/v2/deployments/${id}`, {
      revision_source: "internal_source",
      source_revision_config: { source_tarball_path: offered.object_path, langgraph_config_path: "langgraph.json" },
    })
    const revision = await platform.untilEnded(id, patched.latest_revision_id)

    assert.equal(revision.status, "DEPLOYED", JSON.stringify(revision))
    await untilNothingIsLeft(platform)
    await remove(id)
  })
}
