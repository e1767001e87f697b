/** A revision that could not go on with paused conversations says so before it takes over. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { unlessWide } from "@superstep/toolkit/testing/wide-tests"
import { clientOf, deploy, type Revision, startRevision, untilDeployed, untilEnded } from "./testing/deployments.js"
import { startPlatform } from "./testing/platform.js"
import { answer, ask, questionIn } from "./testing/question.js"
import { createRepository } from "./testing/repository.js"

test("paused threads whose node is gone: the revision fails, or they are pinned, as is asked for", {
  skip: unlessWide("takes half a minute"),
}, async () => {
  await using platform = await startPlatform()
  const repository = await createRepository()
  await repository.push(questionIn("ask"))
  const deployment = await deploy(platform, "orphans", repository.url)
  const client = clientOf(platform, deployment)
  const threadId = await ask(client)
  const settings = (source_config: object) =>
    platform.api("PATCH", `/v2/deployments/${deployment.id}`, { source_config })
  const orphansOf = async (revisionId: string) => {
    const path = `/v2/deployments/${deployment.id}/revisions/${revisionId}`
    return (await platform.api<Revision & { orphaned_threads: number }>("GET", path)).body.orphaned_threads
  }

  await settings({ on_orphaned_threads: "fail", thread_pinning: "none" })
  await repository.push(questionIn("confirm"))
  const failed = await startRevision(platform, deployment.id)
  const { status, error_code, status_message } = await untilEnded(platform, deployment.id, failed)
  await repository.push({ ...questionIn("ask"), "README.md": "the node is back" })
  const same = await startRevision(platform, deployment.id)
  await untilDeployed(platform, deployment.id, same)
  await settings({ on_orphaned_threads: "pin" })
  await repository.push(questionIn("confirm"))
  const next = await startRevision(platform, deployment.id)
  await untilDeployed(platform, deployment.id, next)

  assert.deepEqual([status, error_code], ["DEPLOY_FAILED", "orphaned_threads"])
  assert.match(
    status_message ?? "",
    new RegExp(`^1 of 1 paused threads could not go on with this revision: ${threadId}`),
  )
  assert.deepEqual([await orphansOf(failed), await orphansOf(same), await orphansOf(next)], [1, 0, 1])
  assert.equal(await answer(client, await ask(client)), "confirm heard yes")
  assert.equal(await answer(client, threadId), "ask heard yes", "it stayed on the revision that has its node")
})
