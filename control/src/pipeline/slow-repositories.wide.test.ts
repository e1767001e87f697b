/** A workspace deploys repositories whose host never answers: the platform ends the wait. */

import assert from "node:assert/strict"
import { test } from "node:test"
import { portServer } from "@superstep/toolkit/testing/http-server"
import { until } from "@superstep/toolkit/testing/until"
import { shared } from "../testing/api.js"
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

test("a fetch that takes too long gives its place to the next one, and its revision says why", async () => {
  for (let count = 0; count < slowDeployments; count++) {
    slow.push(await platform.deploy(deploymentOf(`${host.origin}/slow-${count}/a.git`, { name: `slow-${count}` })))
  }
  await until(() => asked.size === quota, { what: "the host is asked for as many repositories as the quota allows" })
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
