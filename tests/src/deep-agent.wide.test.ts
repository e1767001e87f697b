/** A Python deep agent of PyPI, whose messages and files are delta channels: nothing that is removed takes them along. */
import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import { test } from "node:test"
import { fileURLToPath } from "node:url"
import { until } from "@superstep/toolkit/testing/until"
import { type AgentServerProcess, startServerWithDatabase } from "./testing/agent-servers.js"

const python = process.env.SUPERSTEP_TEST_PYTHON ?? ""
const hasDeepAgents = python !== "" && spawnSync(python, ["-c", "import deepagents"]).status === 0
const skip = !hasDeepAgents && "no Python with deepagents: .ci/run installs it and sets SUPERSTEP_TEST_PYTHON"

const config = fileURLToPath(new URL("../deep-agent/langgraph.json", import.meta.url))
const env = { SUPERSTEP_CONFIG: config, SUPERSTEP_PYTHON: python }

interface State {
  readonly messages: readonly { readonly id: string; readonly type: string; readonly content: string }[]
  readonly files: Readonly<Record<string, { readonly content: unknown }>>
}

/** Turns of a conversation; the third writes a file. */
const questions = Array.from({ length: 12 }, (_, n) => (n === 2 ? "write remember this" : `question ${n + 1}?`))

async function converse({ client }: AgentServerProcess) {
  const { thread_id } = await client.threads.create()
  const runIds: string[] = []
  for (const content of questions) {
    const run = await client.runs.create(thread_id, "deep", { input: { messages: [{ role: "user", content }] } })
    await client.runs.join(thread_id, run.run_id)
    runIds.push(run.run_id)
  }
  return { threadId: thread_id, runIds }
}

const stateOf = async ({ client }: AgentServerProcess, threadId: string) =>
  (await client.threads.getState<State>(threadId)).values

const questionsIn = ({ messages }: State) =>
  messages.filter(({ type }) => type === "human").map(({ content }) => content)

/** Turn 13: the model says how many questions it sees, and reads the file. */
async function assertRemembered(server: AgentServerProcess, threadId: string, before: State): Promise<void> {
  const ask = async (content: string): Promise<State> => {
    const input = { messages: [{ role: "user", content }] }
    await server.client.runs.wait(threadId, "deep", { input })
    return stateOf(server, threadId)
  }
  assert.deepEqual(questionsIn(before), questions)
  assert.deepEqual(Object.keys(before.files), ["/notes.txt"])

  assert.deepEqual(await stateOf(server, threadId), before)
  const counted = await ask("how many?")
  const read = await ask("read it")

  assert.equal(counted.messages.at(-1)?.content, "question 13")
  assert.match(String(read.messages.at(-1)?.content), /remember this/)
  assert.deepEqual(read.messages.slice(0, before.messages.length), before.messages)
}

test("a deep agent's messages and files outlive", { skip }, async (t) => {
  await using server = await startServerWithDatabase({ env })
  const { client } = server

  await t.test("pruning to the latest checkpoint, on the thread and on its copy", async () => {
    const { threadId } = await converse(server)
    const before = await stateOf(server, threadId)

    const { pruned_count } = await client.threads.prune([threadId], { strategy: "keep_latest" })
    const copy = await client.threads.copy(threadId)

    assert.equal(pruned_count, 1)
    assert.equal((await client.threads.getHistory(threadId)).length, 1)
    await assertRemembered(server, copy.thread_id, before)
    await assertRemembered(server, threadId, before)
  })

  await t.test("the sweep of threads whose time is over", async () => {
    const { threadId } = await converse(server)
    const before = await stateOf(server, threadId)

    await client.threads.update(threadId, { ttl: { ttl: 0.001, strategy: "keep_latest" as "delete" } })
    const isSwept = async () => (await client.threads.getHistory(threadId)).length === 1
    await until(isSwept, { what: "the thread is swept" })

    await assertRemembered(server, threadId, before)
  })

  await t.test("the deletion of a run in the middle, and history tells the rest as it was", async () => {
    const { threadId, runIds } = await converse(server)
    const before = await stateOf(server, threadId)
    const history = await client.threads.getHistory<State>(threadId, { limit: 1000 })

    await client.runs.delete(threadId, runIds[4] ?? "")

    const rest = await client.threads.getHistory<State>(threadId, { limit: 1000 })
    const values = (states: typeof history) =>
      states.map(({ checkpoint, values }) => [checkpoint.checkpoint_id, values])
    const shown = new Set(rest.map(({ checkpoint }) => checkpoint.checkpoint_id))
    assert.ok(rest.length < history.length)
    assert.deepEqual(values(rest), values(history.filter(({ checkpoint }) => shown.has(checkpoint.checkpoint_id))))
    await assertRemembered(server, threadId, before)
  })
})
