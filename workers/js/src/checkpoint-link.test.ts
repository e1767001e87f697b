import assert from "node:assert/strict"
import { test } from "node:test"
import { CheckpointLink, type CheckpointLinkOptions } from "./checkpoint-link.js"
import type { Serde } from "./langgraph.js"

const serde: Serde = {
  dumpsTyped: async (value) => ["json", Buffer.from(JSON.stringify(value))],
  loadsTyped: async (_type, data) => JSON.parse(String(data)),
}

/** The link of a run on thread `own`, and what it asked of a server that has nothing. */
function linkOfRun() {
  const asked: string[] = []
  const call: CheckpointLinkOptions["call"] = async (fields) => {
    asked.push(`${fields.method} ${"thread_id" in fields ? fields.thread_id : ""}`)
    return { header: { type: "reply", call_id: "1" }, payload: [] }
  }
  const claim = { run_id: "r", claim_id: "c" }
  const eventsWritten = () => Promise.resolve()
  const options = { call, claim, threadId: "own", hasCheckpoint: false, eventsWritten }
  return {
    asked,
    link: new CheckpointLink({ ...options, awaitsCommits: true, onRefused: (error) => assert.fail(String(error)) }),
  }
}

const root = (thread_id: string) => ({ configurable: { thread_id, checkpoint_ns: "" } })

const put = (link: CheckpointLink, threadId: string, id: string) => {
  const checkpoint = {
    v: 4,
    id,
    ts: "",
    channel_values: { x: threadId },
    channel_versions: { x: 1 },
    versions_seen: {},
  }
  return link.put(serde, root(threadId), checkpoint, { source: "loop" }, { x: 1 })
}

test("a graph that a node calls with a thread of its own does not become the run's state", async () => {
  const { link } = linkOfRun()
  await put(link, "own", "1")

  const saved = await put(link, "other", "2")
  const written = { taskId: "t", taskPath: "" }
  await link.putWrites(serde, saved, [["x", "of the other"]], written)

  assert.equal(link.newest()?.checkpoint.id, "1")
  assert.deepEqual(link.newest()?.pendingWrites, [])
  assert.equal((await link.get(serde, root("own")))?.checkpoint.channel_values.x, "own")
})

test("that the run's thread has no checkpoint says nothing of another thread", async () => {
  const { link, asked } = linkOfRun()

  const nothing = [await link.get(serde, root("own")), await link.get(serde, root("other"))]
  await put(link, "other", "2")
  const stillNothing = await link.get(serde, root("own"))

  assert.deepEqual([...nothing, stillNothing], [undefined, undefined, undefined])
  assert.deepEqual(asked, ["checkpoint.get other", "checkpoint.put other"])
})

test("what a question does to the newest checkpoint does not reach the graph that goes on from it", async () => {
  const { link } = linkOfRun()
  await put(link, "own", "1")

  const asked = (await link.get(serde, root("own")))?.checkpoint as { versions_seen: Record<string, unknown> }
  // What getState does when every task of the super-step has its writes already.
  asked.versions_seen.node = { x: 1 }

  assert.deepEqual((await link.get(serde, root("own")))?.checkpoint.versions_seen, {})
})

test("writes to the newest checkpoint come by path, task and index, whatever the order in which tasks ended", async () => {
  const { link } = linkOfRun()
  const saved = await put(link, "own", "1")
  const wrote = (taskId: string, taskPath: string, ...values: string[]) =>
    link.putWrites(
      serde,
      saved,
      values.map((value) => ["x", value]),
      { taskId, taskPath },
    )

  await wrote("t1", "~__pregel_pull, \u{10000}", "f")
  await wrote("t8", "~__pregel_pull, \uffee", "e")
  await wrote("t9", "~__pregel_pull, b", "c", "d")
  await wrote("t2", "~__pregel_pull, b", "b")
  await wrote("t5", "", "a")

  const values = link.newest()?.pendingWrites.map(([, , value]) => value)
  assert.deepEqual(values, ["a", "b", "c", "d", "e", "f"])
})

test("writes for a checkpoint that never comes are not waited for once none is expected any more", async () => {
  const { link } = linkOfRun()
  const address = { configurable: { thread_id: "own", checkpoint_ns: "", checkpoint_id: "2" } }
  await link.putWrites(serde, address, [["__interrupt__", "why?"]], { taskId: "t", taskPath: "" })
  let isAnswered = false
  const answered = link.answeredSoFar().then(() => {
    isAnswered = true
  })

  await link.idle()
  assert.equal(isAnswered, false)
  link.expectNoMore()

  await answered
})
