/** A workspace deploys repositories whose host never answers: the deploys of others go on, and the platform ends the wait. */

import assert from "node:assert/strict"
import { test } from "node:test"
import { sql } from "@superstep/toolkit/db/sql"
import { portServer } from "@superstep/toolkit/testing/http-server"
import { until } from "@superstep/toolkit/testing/until"
import { shared } from "../testing/api.js"
import { createApiKey, createWorkspace } from "../workspaces/operations.js"
import { deploymentOf } from "./testing/platform.js"
import { platformWithRepository } from "./testing/platform-with-repository.js"

// More than the platform fetches at once in all.
const slowDeployments = 12
// The default of SUPERSTEP_WORKSPACE_BUILDS.
const quota = 4

const asked = new Set<string>()
const host = shared(() => portServer(({ url }) => asked.add(url?.split("/")[1] ?? "")))
const platform = shared(() => platformWithRepository())
const slow: { deploymentId: string; revisionId: string }[] = []
/** Creates a deployment of the platform's own repository in a workspace of its own. */
async function deployAsAnother(): Promise<{ deployment: string; status: () => Promise<string> }> {
  const { workspace_id: workspaceId } = await createWorkspace(platform.db, "another")
  const { clearKey } = await createApiKey(platform.db, { workspaceId, name: "test" })
  const headers = { "x-api-key": clearKey, "content-type": "application/json" }
  const body = JSON.stringify(deploymentOf(platform.repository.url, { name: "another" }))
  const created = await platform.fetch("/v2/deployments", { method: "POST", headers, body })
  assert.equal(created.status, 201)
  const { id, latest_revision_id } = (await created.json()) as { id: string; latest_revision_id: string }
  const status = async () => {
    const reply = await platform.fetch(`/v2/deployments/${id}/revisions/${latest_revision_id}`, { headers })
    return ((await reply.json()) as { status: string }).status
  }
  return { deployment: id, status }
}

const claimedFetches = () =>
  platform.db.rows(sql`select from revisions where stage = 'fetch' and lease_owner is not null`)

test("a workspace whose repositories never answer does not stop the deploy of another one", async () => {
  for (let count = 0; count < slowDeployments; count++) {
    slow.push(await platform.deploy(deploymentOf(`${host.origin}/slow-${count}/a.git`, { name: `slow-${count}` })))
  }
  await until(() => asked.size === quota, { what: "the host is asked for as many repositories as the quota allows" })

  const last = slow.at(-1) ?? assert.fail()
  const waiting = await until(
    async () => {
      const path = `/v2/deployments/${last.deploymentId}/revisions/${last.revisionId}`
      return (await platform.call("GET", path)).body.status_message
    },
    { what: "a revision that waits says what for" },
  )
  assert.equal(waiting, 'waits for other builds of its workspace: 4 in progress, and its quota "builds" is 4')

  const { status } = await deployAsAnother()

  await until(async () => (await status()) === "DEPLOYED", { what: "the other workspace's revision is deployed" })
  assert.equal((await claimedFetches()).length, quota)
  assert.equal(asked.size, quota)
  const { body } = await platform.call("GET", "/v2/quotas")
  assert.deepEqual(body.builds, { limit: quota, used: quota, is_default: true })
})

test("a fetch that takes too long gives its place to the next one, and its revision says why", async () => {
  await platform.kill()
  await platform.start({ SUPERSTEP_TIMEOUT_SOURCE: "1" })

  await until(() => asked.size === slowDeployments, { what: "every repository had its turn" })
  const message = await until(
    async () => {
      const { deploymentId, revisionId } = slow[0] ?? assert.fail()
      const { body } = await platform.call("GET", `/v2/deployments/${deploymentId}/revisions/${revisionId}`)
      return body.status_message?.includes("trying again") && body.status_message
    },
    { what: "the revision says why it waits" },
  )

  assert.match(message, /slow-0\/a\.git main was not fetched within 1 s; trying again in/)
})
