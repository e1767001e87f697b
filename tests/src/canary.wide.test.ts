/** A new revision gets some of the threads first, with the official client. */
import assert from "node:assert/strict"
import { test } from "node:test"
import type { Client } from "@langchain/langgraph-sdk"
import { until } from "@superstep/toolkit/testing/until"
import { unlessLong } from "@superstep/toolkit/testing/wide-tests"
import { clientOf, deploy, startRevision, untilDeployed } from "./testing/deployments.js"
import { startPlatform } from "./testing/platform.js"
import { createRepository } from "./testing/repository.js"

/** A graph whose runs answer with a word, or fail. */
const graphFile = (answer: string) => ({
  "langgraph.json": JSON.stringify({ node_version: "20", graphs: { echo: "./src/echo.ts:graph" }, env: {} }),
  "src/echo.ts": `import { Annotation, END, START, StateGraph } from "@langchain/langgraph"
const State = Annotation.Root({ said: Annotation<string>() })
export const graph = new StateGraph(State)
  .addNode("say", () => {
    if (${JSON.stringify(answer)} === "fail") throw new Error("not today")
    return { said: ${JSON.stringify(answer)} }
  })
  .addEdge(START, "say")
  .addEdge("say", END)
  .compile()
`,
})

/** @throws Error  the run has not ended after minutes; with why it waits */
async function answerOf(client: Client, threadId: string): Promise<string | undefined> {
  const signal = AbortSignal.timeout(180_000)
  const request = { input: {}, ifNotExists: "create", raiseError: false, signal } as const
  try {
    return ((await client.runs.wait(threadId, "echo", request)) as { said?: string }).said
  } catch (cause) {
    if (!signal.aborted) throw cause
    const [run] = await client.runs.list(threadId)
    const { apiUrl, defaultHeaders } = client.runs as unknown as {
      apiUrl: string
      defaultHeaders: Record<string, string>
    }
    const reply = await fetch(`${apiUrl}/queue?run_id=${run?.run_id}`, { headers: defaultHeaders })
    throw new Error(`the run has not ended: ${await reply.text()}`, { cause })
  }
}

/** What each thread's run answers, in the order of the threads; undefined where it failed. */
async function answersOf(client: Client, threadIds: readonly string[]): Promise<(string | undefined)[]> {
  const answers = new Array<string | undefined>(threadIds.length)
  let next = 0
  const clients = Array.from({ length: 16 }, async () => {
    for (let n = next++; n < threadIds.length; n = next++) {
      const threadId = threadIds[n] ?? ""
      answers[n] = await answerOf(client, threadId)
    }
  })
  await Promise.all(clients)
  return answers
}

const newThreads = (count: number): string[] => Array.from({ length: count }, () => crypto.randomUUID())

const count = <T>(all: readonly T[], wanted: T): number => all.filter((it) => it === wanted).length

interface Traffic {
  readonly status: string
  readonly error_code: string | null
  readonly status_message: string | null
  readonly traffic: { weight: number; runs: { ended: number; failed: number } | null } | null
}

test("a canary gets its percentage of the threads, none flips, and it is promoted, aborted, or goes back by itself", {
  skip: unlessLong("takes a minute"),
}, async () => {
  await using platform = await startPlatform({ env: { SUPERSTEP_WATCH: "1" } })
  const repository = await createRepository()
  await repository.push(graphFile("one"))
  const { id, ...deployment } = await deploy(platform, "canaries", repository.url)
  const client = clientOf(platform, { id, ...deployment })
  const revision = async (revisionId: string) =>
    (await platform.api<Traffic>("GET", `/v2/deployments/${id}/revisions/${revisionId}`)).body
  const act = (revisionId: string, action: string, body = {}) =>
    platform.api<Traffic>("POST", `/v2/deployments/${id}/revisions/${revisionId}/${action}`, body)
  const settings = (body: object) => platform.api("PATCH", `/v2/deployments/${id}`, body)
  const push = async (answer: string) => {
    await repository.push(graphFile(answer))
    const revisionId = await startRevision(platform, id)
    await untilDeployed(platform, id, revisionId)
    return revisionId
  }
  const untilShared = (weight: number, answer: string) =>
    until(async () => weight === 0 || (await answersOf(client, newThreads(20))).includes(answer), {
      what: `threads reach the canary of ${weight} %`,
    })
  await settings({ source_config: { canary_weight: 10 } })

  const two = await push("two")
  await untilShared(10, "two")
  const threadIds = newThreads(400)
  const first = await answersOf(client, threadIds)
  const again = await answersOf(client, threadIds.slice(0, 100))
  const onCanary = count(first, "two")
  assert.equal(count(first, "one") + onCanary, 400)
  // Six standard deviations of 400 draws at 10 %: a fair draw is outside once in a hundred million.
  assert.ok(Math.abs(onCanary - 40) < 36, `${onCanary} of 400 threads at 10 %`)
  assert.deepEqual(again, first.slice(0, 100), "no thread flips")
  await until(async () => ((await revision(two)).traffic?.runs?.ended ?? 0) >= onCanary, {
    what: "the canary's runs are counted",
  })

  assert.equal((await act(two, "traffic", { weight: 50 })).status, 200)
  await until(async () => count(await answersOf(client, newThreads(40)), "two") >= 10, { what: "half of the threads" })
  const half = await answersOf(client, threadIds.slice(0, 100))
  assert.ok(
    half.every((answer, n) => answer === "two" || first[n] === "one"),
    "no thread leaves the canary when it gets more",
  )
  assert.equal((await act(two, "promote")).status, 200)
  await until(async () => (await revision(two)).traffic?.weight === 100, { what: "the promotion" })
  await until(async () => count(await answersOf(client, newThreads(20)), "two") === 20, { what: "all threads" })
  assert.deepEqual(await answersOf(client, threadIds.slice(0, 50)), Array(50).fill("two"))

  const three = await push("three")
  await untilShared(10, "three")
  assert.equal((await act(three, "abort")).status, 200)
  await until(async () => (await revision(three)).error_code === "canary_aborted", { what: "the abort" })
  await until(async () => count(await answersOf(client, newThreads(40)), "two") === 40, { what: "threads to go back" })
  assert.equal((await act(three, "promote")).status, 409)

  await settings({ source_config: { canary_weight: 50, rollback_on: { min_runs: 20 } } })
  const failing = await push("fail")
  await until(
    async () => {
      await answersOf(client, newThreads(20))
      return (await revision(failing)).error_code === "canary_failed"
    },
    { what: "the failing canary to go back" },
  )
  const { status, traffic, status_message: why } = await revision(failing)
  assert.deepEqual([status, traffic], ["DEPLOYED", null])
  assert.match(why ?? "", /^\d+ of its \d+ runs failed, and 0 of \d+ of the revision that serves/)
  await until(async () => count(await answersOf(client, newThreads(20)), "two") === 20, { what: "threads to go back" })
})
