/** The official SDK reads on after a kill, with nothing but what it gives its users. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { Client } from "@langchain/langgraph-sdk"
import { skip } from "@superstep/toolkit/testing/processes"
import { bodyOf, conversationOf, eventsOf } from "./conversation.js"
import { factsOf, readEffects } from "./facts.js"
import { startInstallation } from "./installation.js"
import { judge } from "./verdict.js"

interface Chunk {
  readonly id?: string
  readonly event: string
  // biome-ignore lint/suspicious/noExplicitAny: what a chunk holds is what the test asserts
  readonly data: any
}

const clientOf = (apiUrl: string): Client => new Client({ apiUrl, apiKey: null, callerOptions: { maxRetries: 0 } })

test("the official SDK rejoins at another server by the last id, without hole or repeat", { skip }, async () => {
  await using installation = await startInstallation({ env: { SUPERSTEP_LEASE_SECONDS: "2" } })
  const [one, other] = installation.servers
  assert.ok(one && other)
  const conversation = conversationOf({ name: "sdk", steps: 20 })
  const { input, metadata } = bodyOf(conversation, 0)
  const { thread_id: threadId } = await clientOf(one.url).threads.create()
  const chunks: Chunk[] = []
  let runId = ""

  const stream = clientOf(one.url).runs.stream(threadId, "steps", {
    input: input as Record<string, unknown>,
    metadata: metadata as Record<string, unknown>,
    durability: "sync",
    streamMode: ["custom", "updates"],
    streamResumable: true,
    onRunCreated: ({ run_id }) => {
      runId = run_id
    },
  })
  const broken = async () => {
    for await (const chunk of stream as AsyncIterable<Chunk>) {
      chunks.push(chunk)
      if (chunks.length === 12) await one.kill()
    }
  }
  await assert.rejects(broken, "the stream of a killed server ended as if it were whole")
  const lastEventId = chunks.at(-1)?.id
  const rest = clientOf(other.url).runs.joinStream(threadId, runId, { ...(lastEventId && { lastEventId }) })
  for await (const chunk of rest as AsyncIterable<Chunk>) chunks.push(chunk)

  const received = chunks.map(({ id, event, data }) => ({ id: Number(id), event, data }))
  const facts = await factsOf(installation.db, readEffects(installation.effectsFile), threadId)
  const seen = { acknowledged: [runId], streams: new Map([[runId, received]]) }
  assert.deepEqual(judge(conversation, facts, seen), [])
  const attempts = received.filter(({ event }) => event === "metadata").map(({ data }) => data.attempt)
  assert.deepEqual(attempts, [1, 2])
  assert.deepEqual(received.at(-2)?.data, eventsOf(conversation, 0, 19).at(-1)?.[1])
})
