/** Checkpoints that an update of a thread's state gathers are read together with those of the server. */
import assert from "node:assert/strict"
import { test } from "node:test"
import type { CallFields, Reply } from "../connection/connection.js"
import type { Serde } from "../loading/langgraph.js"
import { readingLinkTo } from "../threads/thread-questions.js"
import { CheckpointGone } from "./checkpoint-link.js"
import { GatheringLink } from "./gathering-link.js"

const serde: Serde = {
  dumpsTyped: async (value) => ["json", Buffer.from(JSON.stringify(value))],
  loadsTyped: async (_type, data) => JSON.parse(String(data)),
}

const at = (id?: string) => ({
  configurable: { thread_id: "t", checkpoint_ns: "", ...(id !== undefined && { checkpoint_id: id }) },
})

const write = (task_id: string, task_path: string, idx: number) => ({
  task_id,
  task_path,
  idx,
  channel: "log",
  type: "json",
})

const reply = (header: object, lines: readonly string[] = []): Reply => ({
  header: { type: "reply", call_id: "1", ...header },
  payload: lines.map((line) => Buffer.from(line)),
})

const body = (id: string) => JSON.stringify({ v: 4, id, ts: "", channel_versions: { log: 1 }, versions_seen: {} })

/** The thread has one checkpoint `b`, with a write of its task; its ancestor stored `["a"]`. */
async function answer({ method, ...fields }: CallFields): Promise<Reply> {
  if (method === "checkpoint.ancestors") {
    if (!("checkpoint_id" in fields) || fields.checkpoint_id !== "b") return reply({})
    const history = { blobs: [{ channel: "log", version: "0", type: "json" }], writes: [write("t1", "", 0)] }
    return reply({ history }, ['["a"]', '"of a"'])
  }
  const tuple = {
    checkpoint_ns: "",
    checkpoint_id: "b",
    parent_checkpoint_id: "a",
    blobs: [],
    writes: [write("t5", "p5", 0)],
  }
  return reply({ tuple }, [body("b"), "{}", '"saved"'])
}

const link = () => new GatheringLink(readingLinkTo("t", answer))

const put = (gathering: GatheringLink, id: string, parent: string, values: object = {}) =>
  gathering.put(
    serde,
    at(parent),
    { v: 4, id, ts: "", channel_values: { ...values }, channel_versions: { log: 2 }, versions_seen: {} },
    { source: "update" },
    {},
  )

const texts = (writes: readonly (readonly [string, string, unknown])[] | undefined) =>
  writes?.map(([, , value]) => value)

test("the newest checkpoint has its gathered writes in order", async () => {
  const gathering = link()

  await gathering.putWrites(serde, at("b"), [["log", "late"]], { taskId: "t6", taskPath: "p6" })
  await gathering.putWrites(serde, at("b"), [["log", "first"]], { taskId: "t9", taskPath: "" })
  await gathering.putWrites(serde, at("b"), [["log", "again"]], { taskId: "t5", taskPath: "p5" })

  const head = await gathering.get(serde, at())
  assert.deepEqual(texts(head?.pendingWrites), ["first", "saved", "late"])
})

test("a delta channel of a gathered checkpoint is rebuilt from gathered writes and the server's data", async () => {
  const gathering = link()
  await gathering.putWrites(serde, at("b"), [["log", "of b"]], { taskId: "t9", taskPath: "p9" })
  await put(gathering, "c", "b")
  await gathering.putWrites(
    serde,
    at("c"),
    [
      ["log", "of c"],
      ["other", "x"],
    ],
    { taskId: "t1", taskPath: "" },
  )
  await put(gathering, "d", "c")

  const { log, other } = await gathering.history(serde, at("d"), ["log", "other"])

  assert.deepEqual([log?.seed, texts(log?.writes)], [["a"], ["of a", "saved", "of b", "of c"]])
  assert.deepEqual(other, { writes: [["t1", "other", "x"]] })
})

test("rebuilding stops at a gathered checkpoint that stores the channel", async () => {
  const gathering = link()
  await put(gathering, "c", "b", { log: ["whole"] })
  await gathering.putWrites(serde, at("c"), [["log", "of c"]], { taskId: "t1", taskPath: "" })
  await put(gathering, "d", "c")

  const { log } = await gathering.history(serde, at("d"), ["log"])

  assert.deepEqual([log?.seed, texts(log?.writes)], [["whole"], ["of c"]])
})

test("a checkpoint that was deleted in the meantime is an error, not an empty channel", async () => {
  await assert.rejects(link().history(serde, at("gone"), ["log"]), CheckpointGone)
})
