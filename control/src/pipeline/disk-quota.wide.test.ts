/** What a workspace keeps on disk is bounded: a build beyond its quota fails, and leaves nothing. */
import assert from "node:assert/strict"
import { existsSync, readdirSync } from "node:fs"
import { join } from "node:path"
import { before, test } from "node:test"
import { sql } from "@superstep/toolkit/db/sql"
import { until } from "@superstep/toolkit/testing/until"
import { shared } from "../testing/api.js"
import { smallProject } from "./testing/platform.js"
import { platformWithRepository } from "./testing/platform-with-repository.js"

const quotaMb = 30
// Two of them exceed the quota.
const artifactMb = 20

const platform = shared(() => platformWithRepository({ SUPERSTEP_WORKSPACE_DISK_MB: String(quotaMb) }))
before(() => {
  const grow = `require("fs").writeFileSync("large", Buffer.alloc(${artifactMb} << 20, 1))`
  platform.repository.commit({ ...smallProject, "grow.cjs": grow })
})

const deployLarge = (name: string) => platform.deployRepository({ name, config: { build_command: "node grow.cjs" } })
const diskQuota = async () => (await platform.call("GET", "/v2/quotas")).body.disk_mb
const artifacts = () => readdirSync(join(platform.home, "artifacts"))

test("a build that exceeds the quota fails with its numbers, leaves nothing, and works once there is room", async () => {
  const first = await deployLarge("first")
  const afterFirst = await diskQuota()
  const kept = artifacts()
  const second = await deployLarge("second")

  assert.equal(first.revision.status, "DEPLOYED", JSON.stringify(first.revision))
  assert.ok(afterFirst.used >= artifactMb && afterFirst.used < quotaMb, JSON.stringify(afterFirst))
  assert.deepEqual([afterFirst.limit, afterFirst.is_default], [quotaMb, true])
  assert.deepEqual([second.revision.status, second.revision.error_code], ["BUILD_FAILED", "disk_quota"])
  assert.match(
    second.revision.status_message,
    /the quota disk_mb of this workspace is 30: with this build, its deployments use 4\d MB\. .*superstep quotas/,
  )
  assert.deepEqual(artifacts(), kept)
  assert.ok(!existsSync(join(platform.home, "cache", second.deploymentId)))
  assert.equal((await diskQuota()).used, afterFirst.used)

  await platform.call("DELETE", `/v2/deployments/${first.deploymentId}`)
  await until(async () => (await diskQuota()).used < artifactMb, { what: "the deleted deployment's files are gone" })
  const path = `/v2/deployments/${second.deploymentId}`
  const again = await platform.call("POST", `${path}/revisions/${second.revisionId}/redeploy`)
  const revision = await platform.untilEnded(second.deploymentId, again.body.latest_revision_id)
  assert.equal(revision.status, "DEPLOYED", JSON.stringify(revision))
})

test("a workspace that keeps too much already starts no build", async () => {
  await platform.db.run(sql`
    insert into workspace_quotas (workspace_id, disk_mb) select workspace_id, 1 from workspaces`)

  const refused = await deployLarge("third")

  assert.deepEqual([refused.revision.status, refused.revision.error_code], ["BUILD_FAILED", "disk_quota"])
  assert.match(refused.revision.status_message, /the quota disk_mb of this workspace is 1: its deployments use \d+ MB/)
  const lines = await platform.db.rows<{ message: string }>(sql`
    select message from log_lines where revision_id = ${refused.revisionId}`)
  assert.ok(!lines.some(({ message }) => message.includes("grow.cjs")), JSON.stringify(lines))
})

test("what a build that fails leaves in its cache counts, too, and goes when it exceeds the quota", async () => {
  await platform.db.run(sql`update workspace_quotas set disk_mb = null`)
  platform.repository.commit({
    ...smallProject,
    "fill.cjs": `
      const { join } = require("path")
      const cache = process.env.npm_config_cache
      require("fs").mkdirSync(cache, { recursive: true })
      require("fs").writeFileSync(join(cache, "large"), Buffer.alloc(${artifactMb} << 20, 1))
      process.exit(1)`,
  })

  const failed = await platform.deployRepository({ name: "fourth", config: { build_command: "node fill.cjs" } })

  assert.deepEqual([failed.revision.status, failed.revision.error_code], ["BUILD_FAILED", "build_command_failed"])
  assert.ok(!existsSync(join(platform.home, "cache", failed.deploymentId)))
})
