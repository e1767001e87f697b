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
  const options = { call, claim, threadId: "own", hasCheckpoint: false, eventsWritten, awaitsCommits: true }
  return { asked, link: new CheckpointLink({ ...options, onRefused: refuse }) }
}

const refuse = (error: unknown) => assert.fail(String(error))
const root = (thread_id: string) => ({ configurable: { thread_id, checkpoint_ns: "" } })

const put = (link: CheckpointLink, threadId: string, id: string) => {
  const channels = { channel_values: { x: threadId }, channel_versions: { x: 1 } }
  const checkpoint = { v: 4, id, ts: "", ...channels, versions_seen: {} }
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
    const blobs = [same, { channel: "own", version: checkpoint_id, type: "json" }]
    return { checkpoint_ns: "", checkpoint_id, blobs, writes: [] }
  }
  const call: CheckpointLinkOptions["call"] = async (fields) => {
    const { before = "z", limit = ids.length } = fields as { before?: string; limit?: number }
    asked.push(fields)
    const left = ids.filter((id) => id < before)
    const page = left.slice(0, Math.min(limit, 2))
    const all = (n: number) => (n === 0 ? '["all"]' : "")
    const lines = page.flatMap((id, n) => [`{"id":"${id}","versions_seen":{}}`, "{}", all(n), `"${id}"`])
    const more = page.length === 2 && limit !== 2 ? { more: true as const } : {}
    const tuples = page.map((id, n) => tupleOf(id, n === 0))
    return { header: { type: "reply", call_id: "1", tuples, ...more }, payload: lines.map((line) => Buffer.from(line)) }
  }
  const rest = { threadId: "own", hasCheckpoint: true, eventsWritten: () => Promise.resolve(), awaitsCommits: true }
  return { asked, link: new CheckpointLink({ ...rest, call, onRefused: refuse }) }
}

test("a list is read page by page, a value that was sent once is in all checkpoints that have it, and a reader may change it", async () => {
  const { link, asked } = linkToPages(["5", "4", "3", "2", "1"])
  const valuesOf = async (limit?: number) => {
    const tuples = []
    for await (const { checkpoint } of link.list(serde, root("own"), limit === undefined ? {} : { limit })) {
      const { own, all } = checkpoint.channel_values as { own: string; all: string[] }
      tuples.push(`${own} ${all}`)
      all.push("changed by the graph")
    }
    return tuples
  }

  const all = await valuesOf()
  const three = await valuesOf(3)

  assert.deepEqual(all, ["5 all", "4 all", "3 all", "2 all", "1 all"])
  assert.deepEqual(three, all.slice(0, 3))
  const pages = asked.map((fields) => {
    const { before, limit } = fields as { before?: string; limit?: number }
    return `before ${before}, limit ${limit}`
  })
  const [first, second, third, ...ofThree] = pages
  const [begin, from] = ["before undefined", "before 4"]
  assert.deepEqual(
    [first, second, third],
    [`${begin}, limit undefined`, `${from}, limit undefined`, "before 2, limit undefined"],
  )
  assert.deepEqual(ofThree, [`${begin}, limit 3`, `${from}, limit 1`])
})
