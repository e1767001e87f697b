/** Conversations that pause on a revision finish on it, whatever takes over, with the official client. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { until } from "@superstep/toolkit/testing/until"
import { unlessWide } from "@superstep/toolkit/testing/wide-tests"
import { clientOf, deploy, startRevision, untilDeployed } from "./testing/deployments.js"
import { onlyWithProcesses } from "./testing/machines/machine-of-run.js"
import { startPlatform } from "./testing/platform.js"
import { answer, ask, questionIn } from "./testing/question.js"
import { createRepository } from "./testing/repository.js"

test("ten paused conversations finish on their revision after its node was renamed, through kills of everything", {
  skip: unlessWide("takes half a minute"),
}, async () => {
  await using platform = await startPlatform({ env: { SUPERSTEP_WATCH: "1", SUPERSTEP_IDLE_MINUTES: "0.02" } })
  const repository = await createRepository()
  await repository.push(questionIn("ask"))
  const deployment = await deploy(platform, "questions", repository.url)
  const client = clientOf(platform, deployment)
  const old = deployment.latest_revision_id
  const pinnedThreads = async () => {
    const path = `/v2/deployments/${deployment.id}/revisions/${old}`
    return (await platform.api<{ pinned_threads: number }>("GET", path)).body.pinned_threads
  }
  const threads = await Promise.all(Array.from({ length: 10 }, () => ask(client)))
  const { machine } = platform
  const [oldUnit = ""] = (await machine.running()).map(({ unitId }) => unitId)
  const runsOld = async () => (await machine.running()).find(({ unitId }) => unitId === oldUnit)

  await repository.push(questionIn("confirm"))
  await untilDeployed(platform, deployment.id, await startRevision(platform, deployment.id))
  assert.equal(await answer(client, await ask(client)), "confirm heard yes", "new threads run on the new revision")
  await until(async () => (await pinnedThreads()) === 10 && (await runsOld()) === undefined, {
    what: "the old unit sleeps",
  })

  const first = await Promise.all(threads.slice(0, 5).map((threadId) => answer(client, threadId)))
  const answers = threads.slice(5).map((threadId) => answer(client, threadId))
  const controlPid = await platform.controlPid()
  const unit = await runsOld()
  if (unit) await machine.kill(unit)
  if (controlPid) process.kill(controlPid, "SIGKILL")
  const last = await Promise.all(answers)

  assert.deepEqual([...first, ...last], Array(10).fill("ask heard yes"))
  await until(async () => !(await machine.present()).includes(oldUnit), {
    what: "the old unit is removed when its last thread has moved on",
  })
  assert.equal(await pinnedThreads(), 0)
  const [again = ""] = threads
  await client.runs.wait(again, "question", { input: {} })
  assert.equal(await answer(client, again), "confirm heard yes", "a thread that is at rest moves on")
})

test("a conversation that paused on a canary finishes there, also after another canary has replaced it", {
  skip: unlessWide("takes half a minute") || onlyWithProcesses("the edge chooses canaries, whatever they run in"),
}, async () => {
  await using platform = await startPlatform({ env: { SUPERSTEP_WATCH: "1" } })
  const repository = await createRepository()
  await repository.push(questionIn("ask"))
  const deployment = await deploy(platform, "replaced", repository.url)
  const client = clientOf(platform, deployment)
  const push = async (node: string) => {
    await repository.push(questionIn(node))
    const revisionId = await startRevision(platform, deployment.id)
    await untilDeployed(platform, deployment.id, revisionId)
    return revisionId
  }
  const nodeOf = async (threadId: string) => (await client.threads.getState(threadId)).tasks.map(({ name }) => name)[0]
  await platform.api("PATCH", `/v2/deployments/${deployment.id}`, { source_config: { canary_weight: 99 } })

  const first = await push("confirm")
  // The revision that serves knows no node of the canary's, so it shows none.
  const threadId = await until(
    async () => {
      const asked = await ask(client)
      return (await nodeOf(asked)) === "ask" ? undefined : asked
    },
    { what: "a thread reaches the canary" },
  )
  await push("decide")
  await until(
    async () => {
      const path = `/v2/deployments/${deployment.id}/revisions/${first}`
      const { body } = await platform.api<{ pinned_threads: number; error_code: string }>("GET", path)
      return body.error_code === "canary_replaced" && body.pinned_threads > 0
    },
    { what: "the thread is pinned to the former canary" },
  )

  assert.equal(await answer(client, threadId), "confirm heard yes")
})
