/** The routes of crons. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { freshHttp } from "../testing/test-http.js"
import { newThread } from "../testing/thread-streams.js"
import { agent, type Cron, created, cronOf, runsOf } from "./testing/cron.js"

test("a cron has the requested fields and its next due time", async () => {
  await using http = await freshHttp({ graphs: ["agent"] })
  const { json } = await http.send("POST", "/runs", { assistant_id: "agent" })
  const { assistant_id } = json as { assistant_id: string }

  const cron = await created(http, {
    timezone: "Europe/Berlin",
    end_time: "2999-01-01T00:00:00+01:00",
    metadata: { team: "a" },
    config: { configurable: { model: "m" } },
    stream_mode: ["updates"],
    multitask_strategy: "interrupt",
    unknown_field: 1,
  })
  const read = await cronOf(http, cron.cron_id)

  assert.deepEqual(read, cron)
  const { cron_id, created_at, updated_at, next_run_date, ...others } = cron
  assert.match(String(next_run_date), /^\d{4}-12-31T23:00:00.000Z$/)
  assert.equal(created_at, updated_at)
  assert.ok(cron_id)
  assert.deepEqual(others, {
    assistant_id,
    thread_id: null,
    on_run_completed: "delete",
    end_time: "2998-12-31T23:00:00.000Z",
    schedule: "0 0 1 1 *",
    timezone: "Europe/Berlin",
    user_id: null,
    payload: {
      assistant_id: "agent",
      input: { n: 1 },
      config: { configurable: { model: "m" } },
      multitask_strategy: "interrupt",
      stream_mode: ["updates"],
      metadata: { team: "a" },
    },
    metadata: { team: "a" },
    enabled: true,
    disabled_reason: null,
  })
  assert.equal(http.server.workers.started.length, 1, "creating a cron fires nothing")
})

test("a patch changes the given fields: null removes, metadata is merged, the next due time is computed again", async () => {
  await using http = await freshHttp({ graphs: ["agent"] })
  const { cron_id } = await created(http, {
    end_time: "2030-06-01T00:00:00Z",
    metadata: { team: "a", level: 1 },
    context: { tone: "dry" },
  })
  const patch = async (body: object) => {
    const { status, json, text } = await http.send("PATCH", `/runs/crons/${cron_id}`, body)
    assert.equal(status, 200, text)
    return json as Cron & { payload: Record<string, unknown> }
  }

  const moved = await patch({ schedule: "30 12 1 7 *", timezone: "America/New_York" })
  assert.match(String(moved.next_run_date), /-07-01T16:30:00.000Z$/)
  const ended = await patch({ end_time: "2001-01-01T00:00:00" })
  assert.deepEqual([ended.next_run_date, ended.end_time], [null, "2001-01-01T00:00:00.000Z"])
  const cleared = await patch({ end_time: null })
  assert.equal(cleared.end_time, null)
  assert.match(String(cleared.next_run_date), /-07-01T16:30:00.000Z$/)
  const changed = await patch({ metadata: { level: 2 }, input: { n: 2 }, context: null, timezone: null })
  assert.deepEqual(changed.metadata, { team: "a", level: 2 })
  assert.deepEqual(changed.payload, { assistant_id: "agent", input: { n: 2 }, metadata: { team: "a", level: 2 } })
  assert.match(String(changed.next_run_date), /-07-01T12:30:00.000Z$/)
  const paused = await patch({ enabled: false })
  assert.equal(paused.next_run_date, null)
  const resumed = await patch({ enabled: true })
  assert.equal(resumed.next_run_date, changed.next_run_date)
  assert.deepEqual(await patch({}), { ...resumed, updated_at: (await cronOf(http, cron_id)).updated_at })
  assert.equal((await http.send("DELETE", `/runs/crons/${cron_id}`)).status, 204)
  for (const method of ["GET", "DELETE"]) assert.equal((await http.send(method, `/runs/crons/${cron_id}`)).status, 404)
  assert.equal((await http.send("PATCH", `/runs/crons/${cron_id}`, {})).status, 404)
})

test("a search filters by assistant, thread, state and exact metadata, sorts and pages", async () => {
  await using http = await freshHttp({ graphs: ["agent"] })
  const threadId = await newThread(http)
  const one = await created(http, { metadata: { team: "a", tags: ["x"], odd: "a\u0000b" } })
  const two = await created(http, { metadata: { team: "a", tags: ["x", "y"] }, enabled: false })
  const three = await created(http, { metadata: { team: "b" } }, `/threads/${threadId}/runs/crons`)
  const names = new Map([one, two, three].map(({ cron_id }, index) => [cron_id, "123"[index]]))
  const search = async (body: object) => {
    const { status, json, headers, text } = await http.send("POST", "/runs/crons/search", body)
    assert.equal(status, 200, text)
    const found = (json as Cron[]).map(({ cron_id }) => names.get(cron_id)).join("")
    const count = await http.send("POST", "/runs/crons/count", body)
    assert.equal(headers.get("x-pagination-total"), count.text)
    return `${found} ${headers.get("x-pagination-total")} ${headers.get("x-pagination-next") ?? "-"}`
  }

  assert.equal(await search({}), "321 3 -")
  assert.equal(await search({ limit: 2 }), "32 3 2")
  assert.equal(await search({ limit: 2, offset: 2 }), "1 3 -")
  assert.equal(await search({ sort_by: "created_at", sort_order: "asc" }), "123 3 -")
  assert.equal((await search({ sort_by: "next_run_date", sort_order: "desc" })).slice(2), "2 3 -")
  assert.equal(await search({ thread_id: threadId }), "3 1 -")
  assert.equal(await search({ enabled: false }), "2 1 -")
  assert.equal(await search({ assistant_id: "agent" }), "321 3 -")
  assert.equal(await search({ assistant_id: one.assistant_id }), "321 3 -")
  assert.equal(await search({ assistant_id: "nobody" }), " 0 -")
  assert.equal(await search({ metadata: { team: "a" } }), "21 2 -")
  assert.equal(await search({ metadata: { tags: ["x"] } }), "1 1 -")
  assert.equal(await search({ metadata: { odd: "a\u0000b" } }), "1 1 -")
  assert.equal(await search({ metadata: { "a\u0000b": 1 } }), " 0 -")
  const { json } = await http.send("POST", "/runs/crons/search", { select: ["cron_id", "enabled"], limit: 1 })
  assert.deepEqual(json, [{ cron_id: three.cron_id, enabled: true }])
})

test("invalid requests are rejected with a message, and change nothing", async () => {
  await using http = await freshHttp({ graphs: ["agent"] })
  const threadId = await newThread(http)
  const { cron_id } = await created(http)
  const refused = async (method: string, path: string, body: unknown, status = 422) => {
    const reply = await http.send(method, path, body)
    assert.equal(reply.status, status, `${method} ${path} ${JSON.stringify(body)}: ${reply.text}`)
    assert.equal(typeof (reply.json as { detail: unknown }).detail, "string")
  }
  const badPlans: object[] = [
    { schedule: "often" },
    { schedule: "* * * * * *" },
    { schedule: "* * * * *\u0000" },
    { schedule: "0 0 30 2 *" },
    { schedule: `${"1,".repeat(600)}1 * * * *` },
    { timezone: "Mars/Base" },
    { timezone: "+02:00" },
    { timezone: "\ud800" },
    { end_time: "tomorrow" },
    { end_time: "2030-13-01T00:00:00Z" },
    { stream_mode: "loud" },
    { webhook: "ftp://example.com/" },
  ]
  const before = await cronOf(http, cron_id)

  for (const bad of badPlans) {
    await refused("POST", "/runs/crons", { ...agent, ...bad })
    await refused("POST", `/threads/${threadId}/runs/crons`, { ...agent, ...bad })
    await refused("PATCH", `/runs/crons/${cron_id}`, bad)
  }
  for (const path of ["/runs/crons", `/threads/${threadId}/runs/crons`]) {
    await refused("POST", path, { schedule: "* * * * *" })
    await refused("POST", path, { assistant_id: "agent" })
    await refused("POST", path, "[")
    await refused("POST", path, [])
    await refused("POST", path, { ...agent, assistant_id: "nobody" }, 404)
    await refused("POST", path, { ...agent, assistant_id: "a\u0000b" }, 404)
  }
  const unknown = "00000000-0000-4000-8000-000000000000"
  await refused("POST", `/threads/${unknown}/runs/crons`, agent, 404)
  await refused("POST", "/threads/none/runs/crons", agent)
  for (const method of ["GET", "PATCH", "DELETE"]) {
    await refused(method, "/runs/crons/none", method === "PATCH" ? {} : undefined)
    await refused(method, `/runs/crons/${unknown}`, method === "PATCH" ? {} : undefined, 404)
  }
  // What the schema forbids is sent to each field by tests/src/bad-input.wide.test.ts.
  for (const path of ["/runs/crons/search", "/runs/crons/count"]) await refused("POST", path, { thread_id: "none" })
  for (const bad of [{ limit: 1001 }, { offset: 2 ** 63 }]) await refused("POST", "/runs/crons/search", bad)

  assert.deepEqual(await cronOf(http, cron_id), before)
  assert.equal((await http.send("POST", "/runs/crons/count", {})).text, "1")
})

test("a cron that is run by hand creates its run at once, once for a key, and keeps its due time", async () => {
  await using http = await freshHttp({ graphs: ["agent"] })
  const threadId = await newThread(http)
  const cron = await created(http, { enabled: false }, `/threads/${threadId}/runs/crons`)
  assert.equal(cron.on_run_completed, null)
  const path = `/runs/crons/${cron.cron_id}/run`
  const key = { "idempotency-key": "k1" }

  const first = await http.send("POST", path, undefined, key)
  const again = await http.send("POST", path, undefined, key)
  const missing = await http.send("POST", `/runs/crons/${threadId}/run`)

  assert.equal(first.status, 200, first.text)
  assert.equal(again.text, first.text)
  assert.equal(missing.status, 404)
  const run = first.json as { thread_id: string; metadata: Record<string, unknown> }
  assert.deepEqual([run.thread_id, run.metadata.cron_id], [threadId, cron.cron_id])
  assert.equal((await runsOf(http.db, cron.cron_id)).length, 1)
  const { next_run_date, enabled } = await cronOf(http, cron.cron_id)
  assert.deepEqual([next_run_date, enabled], [cron.next_run_date, false])
})
