/** What the edge says about a person: who may answer, what is recorded, and what the control plane takes from it (decision 94). */
import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { test } from "node:test"
import { noApprovalUnitHeader, personHeader, unitHeader } from "@superstep/protocol/http/own-headers"
import { personText } from "@superstep/protocol/http/person"
import { sql } from "@superstep/toolkit/db/sql"
import { until } from "@superstep/toolkit/testing/until"
import { insertSystemAssistants } from "../assistants/queries.js"
import { freshHttp, type TestHttp } from "../testing/test-http.js"

const ann = { person_id: randomUUID(), name: "Ann Ångström", email: "ann@example.com" }
const bob = { person_id: randomUUID(), name: "Bob", email: "bob@example.com" }
const byKey = { [unitHeader]: "sesame" }
const approver = { ...byKey, [personHeader]: personText(ann) }
const runner = { [noApprovalUnitHeader]: "sesame", [personHeader]: personText(bob) }

const interrupts = JSON.stringify({ task: [{ id: "a".repeat(32), value: "pay?" }] })

async function start() {
  const http = await freshHttp({ unitToken: "sesame" })
  await insertSystemAssistants(http.server.db, ["agent"], {})
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
  const status = async () =>
    (await http.send("GET", `/threads/${threadId}`, undefined, byKey)).json as { status: string }
  await until(async () => (await status()).status === "interrupted", { what: "the thread waits" })
  return threadId
}

/** Each request by which somebody could go on where a thread waits, or change it. */
const goingOn: readonly (readonly [method: string, path: string, body: object])[] = [
  ["POST", "/threads/{id}/runs", { assistant_id: "agent", command: { resume: true } }],
  ["POST", "/threads/{id}/runs/stream", { assistant_id: "agent", command: { goto: "end" } }],
  ["POST", "/threads/{id}/runs/wait", { assistant_id: "agent", command: { update: { paid: true } } }],
  ["POST", "/threads/{id}/runs", { assistant_id: "agent", input: null }],
  ["POST", "/threads/{id}/runs", { assistant_id: "agent", checkpoint_id: "1" }],
  ["POST", "/threads/{id}/runs", { assistant_id: "agent", input: {}, interrupt_before: [] }],
  ["POST", "/threads/{id}/state", { values: { paid: true }, as_node: "pay" }],
  [
    "POST",
    "/threads",
    { graph_id: "agent", metadata: { graph_id: "agent" }, supersteps: [{ updates: [{ values: {}, as_node: "pay" }] }] },
  ],
  ["POST", "/threads/{id}/runs/crons", { assistant_id: "agent", schedule: "0 0 1 1 *" }],
  ["POST", "/runs/crons", { assistant_id: "agent", schedule: "0 0 1 1 *", command: { resume: 1 } }],
]

test("a person without the right to approve starts runs with an input, and answers, continues and changes nothing", async () => {
  await using http = await start()
  const threadId = await interrupted(http)
  const ask = (method: string, path: string, body: object) =>
    http.send(method, path.replace("{id}", threadId), body, runner)

  const refused = await Promise.all(goingOn.map((asked) => ask(...asked)))
  const commands = await Promise.all(
    [
      { method: "input.respond", params: { interrupt_id: "a".repeat(32), response: true } },
      { method: "run.start", params: { assistant_id: "agent", input: "yes" } },
    ].map((command) => ask("POST", "/threads/{id}/commands", { id: 1, ...command })),
  )
  const mayRead = await http.send("GET", `/threads/${threadId}`, undefined, runner)
  const other = await http.send(
    "POST",
    `/threads/${randomUUID()}/runs`,
    { assistant_id: "agent", input: {}, if_not_exists: "create" },
    runner,
  )

  assert.deepEqual(
    refused.map(({ status, json }) => [status, (json as { code: string }).code]),
    goingOn.map(() => [403, "approval_required"]),
  )
  assert.deepEqual(
    commands.map(({ status, json }) => [status, (json as { code: string }).code]),
    Array(2).fill([403, "approval_required"]),
  )
  assert.deepEqual([mayRead.status, other.status, http.server.workers.started.length], [200, 200, 2])
  assert.deepEqual((other.json as { created_by: object }).created_by, bob)
})

test("a run, an answer and an edit carry the person, in the run and in the thread; those of a key carry none", async () => {
  await using http = await start()
  const threadId = await interrupted(http, approver)
  const get = async (path: string) => (await http.send("GET", path, undefined, byKey)).json as Record<string, unknown>[]

  const answer = await http.send(
    "POST",
    `/threads/${threadId}/runs`,
    { assistant_id: "agent", command: { resume: true } },
    approver,
  )
  const answerId = (answer.json as { run_id: string }).run_id
  const run = await until(() => http.server.workers.running.get(answerId), { what: "the answer executes" })
  run.done()
  const answers = async () => get(`/threads/${threadId}/answers`)
  await until(async () => (await answers()).length === 1, { what: "the answer is kept" })
  assert.deepEqual(
    (await answers()).map(({ person }) => person),
    [ann],
  )
  const edit = await http.send("POST", `/threads/${threadId}/state`, { values: { paid: true, amount: 3 } }, approver)
  const byMachine = await http.send("POST", `/threads/${threadId}/runs`, { assistant_id: "agent", input: {} }, byKey)
  const acts = await get(`/threads/${threadId}/acts`)
  const runs = await get(`/threads/${threadId}/runs`)
  const { json: found } = await http.send("POST", "/runs/search", { thread_id: threadId }, byKey)

  assert.deepEqual([edit.status, answer.status], [200, 200])
  assert.deepEqual(
    acts.map(({ kind, person, run_id, checkpoint_id, changed }) => [kind, person, run_id, checkpoint_id, changed]),
    [
      ["edit", ann, null, "1", ["paid", "amount"]],
      ["answer", ann, answerId, null, null],
      ["run", ann, runs.at(-1)?.run_id, null, null],
    ],
  )
  assert.deepEqual(
    runs.map(({ created_by }) => created_by),
    [null, ann, ann],
  )
  assert.deepEqual((byMachine.json as { created_by: unknown }).created_by, null)
  assert.deepEqual(
    (found as { runs: { created_by: unknown }[] }).runs.map((it) => it.created_by),
    [null, ann, ann],
  )
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
  const { act_id, acted_at, ...rest } = act as unknown as Record<string, unknown>
  assert.deepEqual(rest, {
    kind: "edit",
    person: ann,
    thread_id: threadId,
    run_id: null,
    checkpoint_id: "1",
    changed: ["paid"],
  })
  assert.deepEqual([malformed.status, ...confirmed.map(({ status }) => status)], [422, 204, 204])
  assert.deepEqual([await reported(), await hasActs()], [[], false])
  assert.deepEqual(await http.server.db.rows(sql`select from person_acts`), [])
})
