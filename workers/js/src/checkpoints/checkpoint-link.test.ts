import assert from "node:assert/strict"
import { test } from "node:test"
import type { Serde } from "../loading/langgraph.js"
import { CheckpointLink, type CheckpointLinkOptions } from "./checkpoint-link.js"

const serde: Serde = {
  dumpsTyped: async (value) => ["json", Buffer.from(JSON.stringify(value))],
  loadsTyped: async (_type, data) => JSON.parse(String(data)),
}

/** The link of a run on thread `own`, and its requests to a server without checkpoints. */
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

test("a graph that a node calls with another thread id does not change the run's state", async () => {
  const { link } = linkOfRun()
  await put(link, "own", "1")

  const saved = await put(link, "other", "2")
  const written = { taskId: "t", taskPath: "" }
  await link.putWrites(serde, saved, [["x", "of the other"]], written)

  assert.equal(link.newest()?.checkpoint.id, "1")
  assert.deepEqual(link.newest()?.pendingWrites, [])
  assert.equal((await link.get(serde, root("own")))?.checkpoint.channel_values.x, "own")
})

test("that the run's thread has no checkpoint does not apply to other threads", async () => {
  const { link, asked } = linkOfRun()

  const nothing = [await link.get(serde, root("own")), await link.get(serde, root("other"))]
  await put(link, "other", "2")
  const stillNothing = await link.get(serde, root("own"))

  assert.deepEqual([...nothing, stillNothing], [undefined, undefined, undefined])
  assert.deepEqual(asked, ["checkpoint.get other", "checkpoint.put other"])
})

test("reading the state does not change the checkpoint from which the graph continues", async () => {
  const { link } = linkOfRun()
  await put(link, "own", "1")

  const asked = (await link.get(serde, root("own")))?.checkpoint as { versions_seen: Record<string, unknown> }
  // The change that getState makes when every task of the super-step already has its writes.
  asked.versions_seen.node = { x: 1 }

  assert.deepEqual((await link.get(serde, root("own")))?.checkpoint.versions_seen, {})
})

test("writes of the newest checkpoint are sorted by path, task and index, in whatever order tasks ended", async () => {
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

test("writes of a checkpoint that is never saved are not awaited when no checkpoint is expected", async () => {
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

/** A server with these checkpoints, newest first, listed in pages of two. Channel `all` has the same version in each. */
function linkToPages(ids: readonly string[]) {
  const asked: object[] = []
  const tupleOf = (checkpoint_id: string, isFirst: boolean) => {
    const same = { channel: "all", version: "1", type: "json", ...(!isFirst && { repeated: true as const }) }
    return {
      checkpoint_ns: "",
      checkpoint_id,
      blobs: [same, { channel: "own", version: checkpoint_id, type: "json" }],
      writes: [],
    }
  }
  const call: CheckpointLinkOptions["call"] = async (fields) => {
    const { before = "z", limit = ids.length } = fields as { before?: string; limit?: number }
    asked.push(fields)
    const left = ids.filter((id) => id < before)
    const page = left.slice(0, Math.min(limit, 2))
    const lines = page.flatMap((id, n) => [
      `{"id":"${id}","versions_seen":{}}`,
      "{}",
      n === 0 ? '["all"]' : "",
      `"${id}"`,
    ])
    const more = page.length === 2 && limit !== 2 ? { more: true as const } : {}
    const tuples = page.map((id, n) => tupleOf(id, n === 0))
    return { header: { type: "reply", call_id: "1", tuples, ...more }, payload: lines.map((line) => Buffer.from(line)) }
  }
  const rest = { threadId: "own", hasCheckpoint: true, eventsWritten: () => Promise.resolve(), awaitsCommits: true }
  return { asked, link: new CheckpointLink({ ...rest, call, onRefused: (error) => assert.fail(String(error)) }) }
}

test("a reader may change a listed checkpoint without affecting the next ones", async () => {
  const { link } = linkToPages(["2", "1"])
  const lists: unknown[] = []

  for await (const { checkpoint } of link.list(serde, root("own"), {})) {
    const all = checkpoint.channel_values.all as string[]
    lists.push([...all])
    all.push("changed by the graph")
  }

  assert.deepEqual(lists, [["all"], ["all"]])
})

test("a list is read page by page, and a value that was sent once is in all checkpoints that have it", async () => {
  const { link, asked } = linkToPages(["5", "4", "3", "2", "1"])
  const valuesOf = async (limit?: number) => {
    const tuples = []
    for await (const { checkpoint } of link.list(serde, root("own"), limit === undefined ? {} : { limit })) {
      tuples.push([checkpoint.channel_values.own, checkpoint.channel_values.all])
    }
    return tuples
  }

  const all = await valuesOf()
  const three = await valuesOf(3)

  assert.deepEqual(
    all,
    ["5", "4", "3", "2", "1"].map((id) => [id, ["all"]]),
  )
  assert.deepEqual(three, all.slice(0, 3))
  const pages = asked.map((fields) => {
    const { before, limit } = fields as { before?: string; limit?: number }
    return [before, limit]
  })
  const [ofAll, ofThree] = [pages.slice(0, 3), pages.slice(3)]
  assert.deepEqual(ofAll, [
    [undefined, undefined],
    ["4", undefined],
    ["2", undefined],
  ])
  assert.deepEqual(ofThree, [
    [undefined, 3],
    ["4", 1],
  ])
})
