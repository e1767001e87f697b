/** Threads whose channels LangGraph keeps as deltas, through the official client. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { fileURLToPath } from "node:url"
import * as checkpointLibrary from "@langchain/langgraph-checkpoint"
import { type GraphServer, startGraphServer } from "./testing/graph-server.js"

// The library of LangGraph 1.5 brought it. Engines before lose an input's messages in updates, forks and older checkpoints.
const needsLangGraph15 =
  !("compareWritesSortKeys" in checkpointLibrary) && "needs LangGraph 1.5: npm test -- --newest delta-channels"

const config = fileURLToPath(new URL("../graphs/delta.json", import.meta.url))

interface State {
  readonly messages: readonly { readonly id: string; readonly type: string; readonly content: string }[]
  readonly steps: readonly string[]
}

const textsOf = (state: unknown) => (state as State).messages.map(({ content }) => content)

const stateOf = async ({ client }: GraphServer, threadId: string) =>
  (await client.threads.getState<State>(threadId)).values

const say = async ({ client }: GraphServer, threadId: string, content: string, options: object = {}): Promise<void> => {
  await client.runs.wait(threadId, "delta", { input: { messages: [{ role: "user", content }] }, ...options })
}

async function newConversation(server: GraphServer, questions: readonly string[]): Promise<string> {
  const { thread_id } = await server.client.threads.create({ graphId: "delta" })
  for (const question of questions) await say(server, thread_id, question)
  return thread_id
}

/** The checkpoints that a history shows, with their values. */
async function historyOf({ client }: GraphServer, threadId: string): Promise<Map<string, State>> {
  const states = await client.threads.getHistory<State>(threadId, { limit: 1000 })
  return new Map(states.map(({ checkpoint, values }) => [checkpoint.checkpoint_id ?? "", values]))
}

test("a thread with delta channels", async (t) => {
  await using server = await startGraphServer({ SUPERSTEP_CONFIG: config })
  const { client } = server

  await t.test(
    "shows at each checkpoint the messages of its time, with ids that stay",
    { skip: needsLangGraph15 },
    async () => {
      const threadId = await newConversation(server, ["one", "two"])

      const [history, again] = [await historyOf(server, threadId), await historyOf(server, threadId)]

      assert.deepEqual(again, history)
      assert.deepEqual(
        [...history.values()].reverse().map((values) => textsOf(values).join()),
        [
          "",
          "one",
          "one",
          "one,heard 1",
          "one,heard 1",
          "one,heard 1,two",
          "one,heard 1,two",
          "one,heard 1,two,heard 3",
        ],
      )
      const messages = [...history.values()].flatMap((values) => values.messages)
      assert.equal(new Set(messages.map(({ id }) => id)).size, 4)
      assert.deepEqual((await stateOf(server, threadId)).steps, ["alpha", "zeta", "answer", "alpha", "zeta", "answer"])
      assert.deepEqual((await client.threads.get(threadId)).values, await stateOf(server, threadId))
    },
  )

  await t.test("is updated, and reply, thread and state agree", { skip: needsLangGraph15 }, async () => {
    const threadId = await newConversation(server, ["one"])

    const supersteps = ["more", "still more"].map((content) => ({
      updates: [{ values: { messages: [{ role: "user", content }], steps: content }, asNode: "answer" }],
    }))
    await client.threads.updateState(threadId, {
      values: { messages: [{ role: "user", content: "two" }], steps: "update" },
      asNode: "answer",
    })

    const { values } = await client.threads.get(threadId)
    assert.deepEqual(textsOf(values), ["one", "heard 1", "two"])
    assert.deepEqual(values, await stateOf(server, threadId))
    const made = await client.threads.create({ graphId: "delta", supersteps })
    assert.deepEqual(textsOf(made.values), ["more", "still more"])
    assert.deepEqual(made.values, await stateOf(server, made.thread_id))
    await say(server, threadId, "three")
    assert.deepEqual(textsOf(await stateOf(server, threadId)), ["one", "heard 1", "two", "three", "heard 4"])
  })

  await t.test(
    "forks at an earlier checkpoint, and both branches keep their messages",
    { skip: needsLangGraph15 },
    async () => {
      const threadId = await newConversation(server, ["one", "two"])
      const before = await historyOf(server, threadId)
      const [earlier] = [...before].find(([, values]) => textsOf(values).join() === "one,heard 1") ?? []

      await say(server, threadId, "other", { checkpoint: { checkpoint_id: earlier, checkpoint_ns: "" } })

      const after = await historyOf(server, threadId)
      assert.deepEqual(textsOf(await stateOf(server, threadId)), ["one", "heard 1", "other", "heard 3"])
      assert.deepEqual(new Map([...after].slice(-before.size)), before)
    },
  )

  await t.test("with durability exit is saved at the end, on a new thread and on an old one", async () => {
    const { thread_id } = await client.threads.create()

    await say(server, thread_id, "one", { durability: "exit" })
    await say(server, thread_id, "two", { durability: "exit" })

    assert.deepEqual(textsOf(await stateOf(server, thread_id)), ["one", "heard 1", "two", "heard 3"])
    assert.deepEqual((await client.threads.get(thread_id)).values, await stateOf(server, thread_id))
  })

  for (const durability of ["async", "exit"]) {
    await t.test(`is pruned, copied and loses a run without losing a message (${durability})`, async () => {
      const { thread_id: threadId } = await client.threads.create()
      for (const question of ["one", "two", "three", "four"]) await say(server, threadId, question, { durability })
      const before = await historyOf(server, threadId)
      const runs = await client.runs.list(threadId)

      await client.runs.delete(threadId, runs.at(-2)?.run_id ?? "")
      const rest = await historyOf(server, threadId)
      const { thread_id: copy } = await client.threads.copy(threadId)
      await client.threads.prune([threadId, copy], { strategy: "keep_latest" })

      assert.ok(rest.size < before.size)
      for (const [checkpointId, values] of rest) assert.deepEqual(values, before.get(checkpointId))
      const newest = [...before].slice(0, 1)
      for (const id of [threadId, copy]) {
        assert.deepEqual([...(await historyOf(server, id))], newest)
        await say(server, id, "five")
        assert.equal(
          textsOf(await stateOf(server, id)).join(),
          "one,heard 1,two,heard 3,three,heard 5,four,heard 7,five,heard 9",
        )
      }
    })
  }

  await t.test("forgets its newest run when that is deleted", async () => {
    const threadId = await newConversation(server, ["one"])
    const before = await historyOf(server, threadId)

    await say(server, threadId, "two")
    const [newest] = await client.runs.list(threadId)
    await client.runs.delete(threadId, newest?.run_id ?? "")

    assert.deepEqual(await historyOf(server, threadId), before)
    await say(server, threadId, "three")
    assert.deepEqual(textsOf(await stateOf(server, threadId)), ["one", "heard 1", "three", "heard 3"])
  })
})
