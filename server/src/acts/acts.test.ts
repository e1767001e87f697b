/** What the edge says about a person: who may answer, what is recorded, and what the control plane takes from it (decision 94). */
import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { test } from "node:test"
import { noApprovalUnitHeader, personHeader, unitHeader } from "@superstep/protocol/http/own-headers"
import { personText } from "@superstep/protocol/http/person"
import { sql } from "@superstep/toolkit/db/sql"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { until } from "@superstep/toolkit/testing/until"
import { freshHttp, type SentReply, type TestHttp } from "../testing/test-http.js"
import { insertAct } from "./queries.js"

const ann = { person_id: randomUUID(), name: "Ann Ångström", email: "ann@example.com" }
const bob = { person_id: randomUUID(), name: "Bob", email: "bob@example.com" }
const byKey = { [unitHeader]: "sesame" }
const approver = { ...byKey, [personHeader]: personText(ann) }
const runner = { [noApprovalUnitHeader]: "sesame", [personHeader]: personText(bob) }

const interrupts = JSON.stringify({ task: [{ id: "a".repeat(32), value: "pay?" }] })

type Json = Record<string, unknown>

async function start() {
  const http = await freshHttp({ unitToken: "sesame", graphs: ["agent"] })
  http.server.workers.answer = async () => ({
    fields: {
      checkpoint: { checkpoint_ns: "", checkpoint_id: "1" },
      puts: [{ checkpoint_ns: "", checkpoint_id: "1", blobs: [] }],
    },
    payload: ["{}", "{}", "{}", "{}"].map((line) => Buffer.from(line)),
  })
  return http
}

/** A thread that waits for an answer. */
async function interrupted(http: TestHttp, headers: Record<string, string> = byKey): Promise<string> {
  const threadId = randomUUID()
  const body = { assistant_id: "agent", input: {}, if_not_exists: "create" }
  const { json, text } = await http.send("POST", `/threads/${threadId}/runs`, body, headers)
  const { run_id: runId } = json as { run_id: string }
  assert.ok(runId, text)
  const run = await until(() => http.server.workers.running.get(runId), { what: "the run executes" })
  run.done({ status: "interrupted", interrupts, next: ["pay"] })
  const status = async () => ((await http.send("GET", `/threads/${threadId}`, undefined, byKey)).json as Json).status
  await until(async () => (await status()) === "interrupted", { what: "the thread waits" })
  return threadId
}

const agent = { assistant_id: "agent" }
const yearly = { ...agent, schedule: "0 0 1 1 *" }

const codesOf = (replies: readonly SentReply[]) =>
  replies.map(({ status, json }) => [status, (json as { code: string }).code])

/** Each request by which somebody could go on where a thread waits, change it, or take back what others did. */
const goingOn: readonly (readonly [method: string, path: string, body: object])[] = [
  ["POST", "/threads/{id}/runs", { ...agent, command: { resume: true } }],
  ["POST", "/threads/{id}/runs/stream", { ...agent, command: { goto: "end" } }],
  ["POST", "/threads/{id}/runs/wait", { ...agent, command: { update: { paid: true } } }],
  ["POST", "/threads/{id}/runs", { ...agent, input: null }],
  ["POST", "/threads/{id}/runs", { ...agent, checkpoint_id: "1" }],
  ["POST", "/threads/{id}/runs", { ...agent, input: {}, interrupt_before: [] }],
  ["POST", "/threads/{id}/state", { values: { paid: true }, as_node: "pay" }],
  [
    "POST",
    "/threads",
    { graph_id: "agent", metadata: { graph_id: "agent" }, supersteps: [{ updates: [{ values: {}, as_node: "pay" }] }] },
  ],
  // LangGraph JS takes such an input for a command.
  ["POST", "/threads/{id}/runs", { ...agent, input: { lg_name: "Command", resume: true } }],
  ["POST", "/threads/{id}/runs/wait", { ...agent, input: { lg_name: "Command", update: { a: 1 } } }],
  ["POST", "/threads/{id}/runs/stream", { ...agent, input: { lg_name: "Command", goto: ["end"] } }],
  ["POST", "/threads/{id}/runs/crons", { ...yearly, input: { lg_name: "Command", resume: true } }],
  ["POST", "/threads/{id}/runs", { ...agent, input: {}, checkpoint_id: "1" }],
  ["POST", "/threads/{id}/runs", { ...agent, input: {}, checkpoint: { checkpoint_id: "1" } }],
  ["POST", "/threads/{id}/runs", { ...agent, input: {}, checkpoint: { checkpoint_map: { "": "1" } } }],
  ["POST", "/threads/{id}/runs", { ...agent, input: {}, config: { configurable: { checkpoint_id: "1" } } }],
  ["POST", "/threads/{id}/runs/crons", { ...yearly, input: {}, config: { configurable: { checkpoint_id: "1" } } }],
  ["POST", "/threads/{id}/runs/crons", yearly],
  ["POST", "/runs/crons", { ...yearly, command: { resume: 1 } }],
  ["POST", "/threads/{id}/runs", { ...agent, input: {}, multitask_strategy: "rollback" }],
  ["POST", "/threads/{id}/runs/{run}/cancel?action=rollback", {}],
  ["POST", "/runs/cancel?action=rollback", { status: "all" }],
  ["DELETE", "/threads/{id}/runs/{run}", {}],
  ["DELETE", "/threads/{id}", {}],
  ["POST", "/threads/prune", { thread_ids: ["{id}"] }],
  ["PATCH", "/threads/{id}", { ttl: { ttl: 1, strategy: "delete" } }],
  ["DELETE", "/assistants/{assistant}?delete_threads=true", {}],
]

const commands = [
  { method: "input.respond", params: { interrupt_id: "a".repeat(32), response: true } },
  { method: "run.start", params: { ...agent, input: "yes" } },
  { method: "run.start", params: { ...agent, input: { lg_name: "Command", resume: "yes" } } },
  { method: "state.fork", params: { checkpoint_id: "1", input: {} } },
].map((command) => ["POST", "/threads/{id}/commands", { id: 1, ...command }] as const)

test("a person without the right to approve starts runs with an input, and answers, continues and changes nothing", async () => {
  await using http = await start()
  const threadId = await interrupted(http)
  const runs = (await http.send("GET", `/threads/${threadId}/runs`, undefined, byKey)).json
  const [{ run_id: runId, assistant_id: assistantId }] = runs as [{ run_id: string; assistant_id: string }]
  const filled = (text: string) =>
    text.replace("{id}", threadId).replace("{run}", runId).replace("{assistant}", assistantId)
  const ask = (method: string, path: string, body: object) =>
    http.send(method, filled(path), JSON.parse(filled(JSON.stringify(body))), runner)

  const refused = await Promise.all([...goingOn, ...commands].map((asked) => ask(...asked)))
  const mayRead = await http.send("GET", `/threads/${threadId}`, undefined, runner)
  const other = await ask("POST", `/threads/${randomUUID()}/runs`, { ...agent, input: {}, if_not_exists: "create" })

  assert.deepEqual(codesOf(refused), Array(refused.length).fill([403, "approval_required"]))
  assert.deepEqual([mayRead.status, other.status, http.server.workers.started.length], [200, 200, 2])
  const { run_id: otherId, thread_id: otherThread, created_by: createdBy } = other.json as Record<string, string>
  const cancelled = await ask("POST", `/threads/${otherThread}/runs/${otherId}/cancel`, {})
  assert.deepEqual([createdBy, cancelled.status], [bob, 202])
})

test("a person without the right to approve moves no cron that answers or goes on", async () => {
  await using http = await start()
  const threadId = await interrupted(http)
  const cronOf = async (body: object) => {
    const path = `/threads/${threadId}/runs/crons`
    const { json, text } = await http.send("POST", path, { ...yearly, ...body }, byKey)
    assert.ok((json as { cron_id?: string }).cron_id, text)
    return (json as { cron_id: string }).cron_id
  }
  const goingOn = await cronOf({})
  const answering = await cronOf({ input: { lg_name: "Command", resume: true } })
  const plain = await cronOf({ input: {} })
  const patch = async (cronId: string, body: object) =>
    (await http.send("PATCH", `/runs/crons/${cronId}`, body, runner)).status

  const changes = [{ schedule: "* * * * *" }, { timezone: "Europe/Berlin" }, { end_time: null }, { enabled: true }]
  const moved = await Promise.all(changes.flatMap((change) => [goingOn, answering].map((id) => patch(id, change))))
  const allowed = [await patch(plain, { schedule: "1 1 1 1 *" }), await patch(goingOn, { metadata: { a: 1 } })]

  assert.deepEqual([moved, allowed], [Array(8).fill(403), [200, 200]])
})

test("a run starts from the checkpoint that its request names, and from none of its assistant", async () => {
  await using http = await start()
  const configurable = { checkpoint_id: "1", checkpoint_ns: "", checkpoint_map: { "": "1" }, color: "red" }
  const { json } = await http.send("POST", "/assistants", { graph_id: "agent", config: { configurable } }, byKey)
  const { assistant_id } = json as { assistant_id: string }

  const { json: run, text } = await http.send("POST", "/runs", { assistant_id, input: {} }, byKey)

  const { kwargs } = run as { kwargs?: { config: { configurable: object } } }
  assert.ok(kwargs, text)
  const given = Object.entries(kwargs.config.configurable).filter(([key]) => key in configurable)
  assert.deepEqual(given, [["color", "red"]])
})

test("the id of a run that a person has started is not used again", async () => {
  await using http = await start()
  const threadId = await interrupted(http)
  const run_id = randomUUID()
  // The run and its log were removed since.
  await insertAct(http.server.db, { kind: "run", person: ann, threadId, of: { runId: run_id } })
  const ask = (headers: Record<string, string>, input: number) =>
    http.send("POST", `/threads/${threadId}/runs`, { assistant_id: "agent", run_id, input }, headers)

  const again = [await ask(approver, 1), await ask(byKey, 2)]

  assert.deepEqual(codesOf(again), Array(2).fill([409, "id_taken"]))
})

test("an edit with huge or unstorable names is recorded with short ones, and a report is never too large to be read", async () => {
  await using http = await start()
  const threadId = await interrupted(http, approver)
  const names = Array.from({ length: 50 }, (_, n) => `${n}\u0000${"ж".repeat(7_000)}`)
  const values = Object.fromEntries(names.map((name) => [name, 1]))
  const reported = () => http.send("GET", "/internal/acts", undefined, byKey)

  const edit = await http.send("POST", `/threads/${threadId}/state`, { values }, approver)
  const [act] = (await reported()).json as { changed: string[] }[]
  await http.server.db.run(sql`
    insert into unaudited_acts select gen_random_uuid(), act from unaudited_acts, generate_series(1, 400)`)
  const all = await reported()

  assert.equal(edit.status, 200, edit.text)
  assert.deepEqual([act?.changed.length, act?.changed.every((name) => name.length < 210)], [50, true])
  assert.ok((all.json as object[]).length > 1)
  assert.ok(Buffer.byteLength(all.text) < 2 * 1024 * 1024, `${all.text.length}`)
})

test("a run, an answer and an edit carry the person, in the run and in the thread; those of a key carry none", async () => {
  await using http = await start()
  const threadId = await interrupted(http, approver)
  const get = async (path: string) => (await http.send("GET", path, undefined, byKey)).json as Json[]

  const runsPath = `/threads/${threadId}/runs`
  const answer = await http.send("POST", runsPath, { ...agent, command: { resume: true } }, approver)
  const answerId = (answer.json as { run_id: string }).run_id
  const run = await until(() => http.server.workers.running.get(answerId), { what: "the answer executes" })
  run.done()
  const answers = async () => get(`/threads/${threadId}/answers`)
  await until(async () => (await answers()).length === 1, { what: "the answer is kept" })
  assert.deepEqual(fieldsOf(await answers(), "person"), [ann])
  const edit = await http.send("POST", `/threads/${threadId}/state`, { values: { paid: true, amount: 3 } }, approver)
  const byMachine = await http.send("POST", runsPath, { ...agent, input: {} }, byKey)
  const acts = await get(`/threads/${threadId}/acts`)
  const runs = await get(runsPath)
  const { json: found } = await http.send("POST", "/runs/search", { thread_id: threadId }, byKey)

  assert.deepEqual([edit.status, answer.status], [200, 200])
  assert.deepEqual(fieldsOf(acts, "kind", "person", "run_id", "checkpoint_id", "changed"), [
    ["edit", ann, null, "1", ["paid", "amount"]],
    ["answer", ann, answerId, null, null],
    ["run", ann, runs.at(-1)?.run_id, null, null],
  ])
  assert.deepEqual((byMachine.json as Json).created_by, null)
  for (const list of [runs, (found as { runs: Json[] }).runs])
    assert.deepEqual(fieldsOf(list, "created_by"), [null, ann, ann])
})

test("what a person deletes is reported with what it was, also when it is gone; what a key deletes is not", async () => {
  await using http = await start()
  const threadId = await interrupted(http)
  const [other, pruned] = [await interrupted(http), await interrupted(http)]
  const send = async (method: string, path: string, body?: object, headers: Record<string, string> = approver) => {
    const { status, json, text } = await http.send(method, path, body, headers)
    assert.ok(status < 300, `${method} ${path}: ${text}`)
    return json as never
  }
  const [{ run_id: runId }] = (await send("GET", `/threads/${threadId}/runs`)) as [{ run_id: string }]
  const { assistant_id: assistantId }: Json = await send("POST", "/assistants", { graph_id: "agent", name: "Support" })
  const { cron_id: cronId }: Json = await send("POST", "/runs/crons", { ...yearly, input: {} })
  const item = { namespace: ["notes", "ann"], key: "first" }
  await send("PUT", "/store/items", { ...item, value: { a: 1 } })
  const reported = async () =>
    ((await send("GET", "/internal/acts", undefined, byKey)) as Json[]).filter(({ kind }) => kind === "delete")

  await send("DELETE", `/threads/${threadId}/runs/${runId}`)
  await send("DELETE", `/threads/${threadId}`)
  await send("DELETE", `/threads/${other}`, undefined, byKey)
  await send("POST", "/threads/prune", { thread_ids: [pruned], strategy: "delete" })
  await send("DELETE", `/assistants/${assistantId}`)
  await send("DELETE", `/runs/crons/${cronId}`)
  await send("DELETE", "/store/items", item)
  await send("DELETE", "/store/items", item)
  const missing = await http.send("DELETE", `/threads/${threadId}`, undefined, approver)

  const acts = await reported()
  assert.deepEqual(fieldsOf(acts, "thing"), [
    { type: "run", id: runId, name: null },
    { type: "thread", id: threadId, name: null },
    { type: "thread", id: pruned, name: null },
    { type: "assistant", id: assistantId, name: "Support" },
    { type: "cron", id: cronId, name: yearly.schedule },
    { type: "store_item", id: "notes.ann/first", name: null },
  ])
  assert.deepEqual(fieldsOf(acts, "person"), Array(6).fill(ann))
  assert.equal(missing.status, 404)
})

test("one act says that a person deleted an assistant with its threads, and how many; one that a thread was given a time to live", async () => {
  await using http = await start()
  const post = async (path: string, body: object) => (await http.send("POST", path, body, byKey)).json as Json
  const { assistant_id: id } = await post("/assistants", { graph_id: "agent", name: "Support" })
  const create = async (metadata: object) => (await post("/threads", { metadata })).thread_id
  // More than are deleted at once.
  await http.server.db.run(sql`
    insert into threads (thread_id, metadata) select gen_random_uuid(), ${JSON.stringify({ assistant_id: id })}
    from generate_series(1, 102)`)
  const threadId = await create({})

  await http.send("PATCH", `/threads/${threadId}`, { ttl: { ttl: 60, strategy: "delete" } }, byKey)
  await http.send("PATCH", `/threads/${threadId}`, { ttl: { ttl: 0.5, strategy: "delete" } }, approver)
  await http.send("DELETE", `/assistants/${id}?delete_threads=true`, undefined, approver)

  const acts = (await http.send("GET", "/internal/acts", undefined, byKey)).json as Json[]
  const ofThreads = acts.filter(({ kind, thread_id }) => kind === "delete" && thread_id !== null)
  const others = acts.filter((it) => !ofThreads.includes(it))
  assert.equal(ofThreads.length, 100)
  assert.deepEqual(fieldsOf(others, "kind", "thread_id", "thing"), [
    ["expire", threadId, { type: "thread", id: threadId, name: "delete after 0.5 minutes" }],
    ["delete", null, { type: "assistant", id, name: "Support, threads: 2" }],
  ])
})

test("a pruning that ends after its first portion is reported", async () => {
  await using http = await start()
  const { thread_id: threadId } = (await http.send("POST", "/threads", {}, byKey)).json as Record<string, string>
  const { db } = http.server
  // A portion is 5000 of them.
  await db.run(sql`
    insert into checkpoints (thread_id, checkpoint_id, checkpoint, metadata)
    select ${threadId}, lpad(n::text, 5, '0'), '{"channel_versions": {}}', '{}' from generate_series(1, 6000) n`)
  await db.run(sql`create sequence portions`)
  await db.run(sql`
    create function end_second() returns trigger language plpgsql as $$
    begin
      if nextval('portions') > 1 then raise 'the database ends'; end if;
      return null;
    end $$`)
  await db.run(sql`create trigger portions before update on threads execute function end_second()`)

  const body = { thread_ids: [threadId], strategy: "keep_latest" }
  const { status } = await http.send("POST", "/threads/prune", body, approver)

  const acts = (await http.send("GET", "/internal/acts", undefined, byKey)).json as Json[]
  assert.deepEqual([status, fieldsOf(acts, "thing")], [500, [{ type: "checkpoints", id: threadId, name: null }]])
})

test("nobody names a person, or gives up the right to approve, without the credential of the unit", async () => {
  await using http = await start()
  const ask = (headers: Record<string, string>) => http.send("POST", "/threads", {}, headers)

  const [named, wrong, both] = [
    await ask({ [personHeader]: personText(ann) }),
    await ask({ [noApprovalUnitHeader]: "wrong", [personHeader]: personText(ann) }),
    // Two credentials never come from an edge; the right is that of the one that is complete.
    await ask({ ...byKey, [noApprovalUnitHeader]: "wrong" }),
  ]

  assert.deepEqual([named.status, wrong.status, both.status], [401, 401, 200])
})

test("the control plane gets answers and edits until it confirms them, also of a thread that is deleted; the status says so", async () => {
  await using http = await start()
  const threadId = await interrupted(http, approver)
  const reported = async () => (await http.send("GET", "/internal/acts", undefined, byKey)).json as { act_id: string }[]
  const hasActs = async () =>
    ((await http.send("GET", "/internal/status", undefined, byKey)).json as { has_acts: boolean }).has_acts
  const before = [await reported(), await hasActs()]

  await http.send("POST", `/threads/${threadId}/state`, { values: { paid: true } }, approver)
  await http.send("DELETE", `/threads/${threadId}`, undefined, byKey)
  const [[act, ...others], during] = [await reported(), await hasActs()]
  const confirm = (ids: unknown) => http.send("POST", "/internal/acts/confirmed", ids, byKey)
  const malformed = await confirm(["no id"])
  const confirmed = [await confirm([act?.act_id]), await confirm([act?.act_id])]

  assert.deepEqual([before, others, during], [[[], false], [], true])
  const { act_id, acted_at, ...rest } = act as unknown as Json
  assert.deepEqual(rest, {
    kind: "edit",
    person: ann,
    thread_id: threadId,
    run_id: null,
    checkpoint_id: "1",
    changed: ["paid"],
    thing: null,
  })
  assert.deepEqual([malformed.status, ...confirmed.map(({ status }) => status)], [422, 204, 204])
  assert.deepEqual([await reported(), await hasActs()], [[], false])
  assert.deepEqual(await http.server.db.rows(sql`select from person_acts`), [])
})
