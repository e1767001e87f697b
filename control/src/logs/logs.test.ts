import assert from "node:assert/strict"
import { test } from "node:test"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { hideSecrets } from "@superstep/toolkit/text/hide-secrets"
import { exampleDeployment, startApi } from "../testing/api.js"
import { appendLogLines, lastLogLines } from "./operations.js"
import { linesAfter } from "./queries.js"
import { parseLine } from "./structured-line.js"

async function withLines(count: number) {
  const api = await startApi()
  const { body } = await api.call("POST", "/v2/deployments", { body: exampleDeployment() })
  const lines = Array.from({ length: count }, (_, index) => `line ${index + 1}`)
  await appendLogLines(api.db, body.latest_revision_id, "build", lines)
  const v2 = `/v2/deployments/${body.id}/revisions/${body.latest_revision_id}/logs`
  const v1 = `/v1/projects/${body.id}/revisions/${body.latest_revision_id}/build_logs`
  return { api, v1, v2, id: body.id, revisionId: body.latest_revision_id as string }
}

const messages = (body: { logs: { message: string }[] }) => body.logs.map(({ message }) => message)

test("a log is read in pages, and followed with the last offset; a cursor is valid only for its own log, and an invalid one is 422 (G1)", async () => {
  const { api, v1, v2, id, revisionId } = await withLines(3)
  await using _ = api

  const first = await api.call("GET", `${v2}?type=build&limit=2`)
  const second = await api.call("GET", `${v2}?type=build&limit=2&offset=${first.body.next_offset}`)
  const nothing = await api.call("GET", `${v2}?type=build&offset=${second.body.next_offset}`)
  await appendLogLines(api.db, revisionId, "build", ["line 4"])
  const followed = await api.call("GET", `${v2}?type=build&offset=${second.body.next_offset}`)

  assert.deepEqual(messages(first.body), ["line 1", "line 2"])
  assert.deepEqual(messages(second.body), ["line 3"])
  assert.deepEqual(nothing.body, { logs: [], next_offset: second.body.next_offset }, "the cursor stays good")
  assert.deepEqual(messages(followed.body), ["line 4"])

  const other = await api.change(id, { source_revision_config: { repo_ref: "x" } })
  await appendLogLines(api.db, other.latest_revision_id, "build", ["another"])
  const cursor = (await api.call("GET", `${v2}?type=build&limit=1`)).body.next_offset as string
  const elsewhere = `/v2/deployments/${id}/revisions/${other.latest_revision_id}/logs`

  for (const [path, offset] of [
    [`${elsewhere}?type=build`, cursor],
    [`${v2}?type=deploy`, cursor],
    [`${v2}?type=build`, "1"],
    [`${v2}?type=build`, cursor.replace(/^\d+/, "-1")],
    [`${v2}?type=build`, `${cursor}'--`],
    [`${v2}?type=build`, `${"9".repeat(40)}.${cursor.split(".")[1]}`],
  ] as const) {
    assert.equal((await api.call("GET", `${path}&offset=${encodeURIComponent(offset)}`)).status, 422, offset)
  }
  const project = await api.call("POST", `/v1/projects/${id}/deploy_logs`, { body: { offset: cursor } })
  assert.equal(project.status, 422)
  assert.deepEqual(messages((await api.call("POST", v1, { body: { offset: cursor } })).body), [
    "line 2",
    "line 3",
    "line 4",
  ])
})

test("the CLIs' requests work: newest first, then from the newest time without repetitions (G1)", async () => {
  const { api, v1, revisionId } = await withLines(3)
  await using _ = api

  const newest = await api.call("POST", v1, { body: { limit: 2, order: "desc" } })
  const older = await api.call("POST", v1, { body: { limit: 2, order: "desc", offset: newest.body.next_offset } })
  const known = new Set(newest.body.logs.map(({ id }: { id: string }) => id))
  await appendLogLines(api.db, revisionId, "build", ["line 4"])
  const since = await api.call("POST", v1, { body: { order: "asc", start_time: newest.body.logs[0].timestamp } })
  const empty = await api.call("POST", v1)

  assert.deepEqual(messages(newest.body), ["line 3", "line 2"])
  assert.deepEqual(messages(older.body), ["line 1"])
  const end = await api.call("POST", v1, { body: { limit: 2, order: "desc", offset: older.body.next_offset } })
  assert.deepEqual(end.body, { logs: [], next_offset: null }, "downwards an empty page is the end")
  const fresh = since.body.logs.filter(({ id }: { id: string }) => !known.has(id))
  assert.ok(messages({ logs: fresh }).includes("line 4"))
  assert.equal(empty.body.logs.length, 4, "an empty body asks for everything")
})

test("a reader may leave out what Superstep itself wrote, except for its warnings and errors", async () => {
  const { api, v2, id, revisionId } = await withLines(0)
  await using _ = api
  const ids = { run_id: "0197a1b2-0000-7000-8000-000000000001", thread_id: "0197a1b2-0000-7000-8000-000000000002" }
  const ours = { process: "server", ...ids }
  const printed = [
    { level: "info", msg: "run started", ...ours },
    { msg: "hello from the graph", ...ids },
    { level: "error", msg: "run ended", ...ours },
  ]
  await appendLogLines(
    api.db,
    revisionId,
    "deploy",
    printed.map((line) => parseLine(JSON.stringify(line))),
  )
  type Line = Record<"level" | "is_platform" | "run_id" | "thread_id", unknown>
  type Page = Record<"logs" | "items", Line[]>
  const read = async (path: string): Promise<Page> => (await api.call("GET", path)).body
  const hidden = "type=deploy&hide_platform=true"

  const { logs: all } = await read(`${v2}?type=deploy`)
  const { logs: rest } = await read(`${v2}?${hidden}`)
  const { items } = await read(`/v2/deployment-logs?deployment_id=${id}&hide_platform=true&sort_order=asc`)
  const v1 = await api.call("POST", `/v1/projects/${id}/deploy_logs`, { body: { hide_platform: true } })

  assert.deepEqual(fieldsOf(all, "is_platform", "run_id", "thread_id"), [
    [true, ids.run_id, ids.thread_id],
    [false, ids.run_id, ids.thread_id],
    [true, ids.run_id, ids.thread_id],
  ])
  assert.deepEqual(fieldsOf(rest, "level", "is_platform"), [
    ["INFO", false],
    ["ERROR", true],
  ])
  assert.deepEqual(items, rest)
  assert.deepEqual(v1.body.logs, rest)
  assert.equal((await api.call("GET", `${v2}?type=deploy&hide_platform=maybe`)).status, 422)
})

test("lines are filtered by stream, level, text and time; malformed requests are 422", async () => {
  const { api, v1, v2, id, revisionId } = await withLines(1)
  await using _ = api
  const at = new Date("2026-01-01T00:00:00.500Z")
  await appendLogLines(api.db, revisionId, "deploy", [{ message: "It Broke 100%", level: "ERROR", at }, "fine"])
  const read = async (query: string) => messages((await api.call("GET", `${v2}?${query}`)).body)

  assert.deepEqual(await read("type=build"), ["line 1"])
  assert.deepEqual(await read("type=deploy&level=error"), ["It Broke 100%"])
  assert.deepEqual(await read("type=deploy&query=broke%20100%25"), ["It Broke 100%"])
  assert.deepEqual(await read(`type=deploy&end_time=${at.toISOString()}`), ["It Broke 100%"])
  assert.deepEqual(await read(`type=deploy&start_time=${at.getTime() + 1}`), ["fine"])
  const all = await api.call("POST", `/v1/projects/${id}/deploy_logs`, { body: { order: "desc", limit: 1 } })
  assert.deepEqual(messages(all.body), ["fine"])

  for (const query of ["", "type=run", "type=build&limit=1001", "type=build&offset=x", "type=build&level=loud"]) {
    assert.equal((await api.call("GET", `${v2}?${query}`)).status, 422, query)
  }
  for (const body of [{ limit: 0 }, { order: "up" }, { start_time: "soon" }, { offset: "-1" }, { query: "\u0000" }]) {
    assert.equal((await api.call("POST", v1, { body })).status, 422, JSON.stringify(body))
  }
})

test("the last lines are returned oldest first, with secrets hidden (G2)", async () => {
  const { api, revisionId } = await withLines(5)
  await using _ = api

  await appendLogLines(api.db, revisionId, "build", ["key sk-very-secret"], {
    hide: hideSecrets(["sk-very-secret"]),
  })
  const last = await lastLogLines(api.db, revisionId, "build", 2)

  assert.deepEqual(fieldsOf(last, "message"), ["line 5", "key [secret]"])
})

test("lines keep their order whatever time they claim, and none is in the future (G3)", async () => {
  const { api, v1, revisionId } = await withLines(1)
  await using _ = api
  const given = ["2999-01-01", "2001-01-01", "2999-01-01", "2026-01-01"].map((day) => ({
    message: day,
    at: new Date(day),
  }))

  await appendLogLines(api.db, revisionId, "build", given)
  await appendLogLines(api.db, revisionId, "build", Array(500).fill("burst"))
  const { body } = await api.call("POST", v1, { body: { limit: 1000 } })

  const times = body.logs.map(({ timestamp }: { timestamp: string }) => timestamp) as string[]
  assert.equal(new Set(times).size, 505)
  assert.deepEqual(times.toSorted(), times)
  assert.ok(new Date(times.at(-1) ?? "").getTime() <= Date.now() + 1000)
})

test("a reader that continues from the newest time misses no line of a burst (G3)", async () => {
  const { api, v1, revisionId } = await withLines(1)
  await using _ = api
  const seen = new Set<string>()
  await appendLogLines(
    api.db,
    revisionId,
    "build",
    Array.from({ length: 95 }, (_, index) => `burst ${index}`),
  )

  // As both CLIs follow a log: from the newest time on, without the ids that they already have.
  let startTime: string | undefined
  for (let page = 0; page < 20; page++) {
    const { body } = await api.call("POST", v1, { body: { limit: 10, order: "asc", start_time: startTime } })
    for (const { id } of body.logs) seen.add(id)
    startTime = body.logs.at(-1).timestamp
  }

  assert.equal(seen.size, 96)
})

test("the logs of a deployment are read across its revisions, newest first, and by run", async () => {
  const { api, id, revisionId } = await withLines(1)
  await using _ = api
  const runId = "0197a1b2-0000-7000-8000-000000000001"
  const other = await api.change(id, { source_revision_config: { repo_ref: "x" } })
  await appendLogLines(api.db, revisionId, "deploy", ["one", { message: "of a run", runId }])
  await appendLogLines(api.db, other.latest_revision_id, "deploy", ["two"])
  const read = async (query: string) => (await api.call("GET", `/v2/deployment-logs?deployment_id=${id}${query}`)).body
  const said = (body: { items: { message: string }[] }) => messages({ logs: body.items })

  const first = await read("&page_size=2")
  const rest = await read(`&page_size=2&cursor=${first.next_cursor}`)

  assert.deepEqual([said(first), said(rest)], [["two", "of a run"], ["one"]])
  assert.deepEqual(said(await read("&log_type=BUILD")), ["line 1"])
  assert.deepEqual(said(await read(`&revision_id=${revisionId}&sort_order=asc`)), ["one", "of a run"])
  assert.deepEqual(said(await read(`&run_id=${runId}`)), ["of a run"])
  const malformed = [
    "&page_size=101",
    "&log_type=run",
    "&run_id=x",
    "&cursor=x",
    `&cursor=${first.next_cursor}&log_type=BUILD`,
  ]
  for (const query of malformed) {
    const reply = await api.call("GET", `/v2/deployment-logs?deployment_id=${id}${query}`)
    assert.equal(reply.status, 422, query)
  }
  assert.equal((await api.callAsOther("GET", `/v2/deployment-logs?deployment_id=${id}`)).status, 404)
})

test("lines of two writers become visible in the order of their ids (G1)", async () => {
  const { api, id, revisionId } = await withLines(1)
  await using _ = api
  const ids: number[] = []
  const streams = ["build", "deploy"] as const

  const writing = Promise.all(
    Array.from({ length: 40 }, (_, index) =>
      api.db.transaction((tx) => appendLogLines(tx, revisionId, streams[index % 2] ?? "build", ["a", "b", "c"])),
    ),
  )
  let last = 0
  for (let isDone = false; !isDone; ) {
    isDone = await Promise.race([
      writing.then(() => true),
      new Promise<false>((resolve) => setImmediate(() => resolve(false))),
    ])
    for (const line of await linesAfter(api.db, id, { after: last, limit: 1000 })) {
      ids.push(line.log_line_id)
      last = line.log_line_id
    }
  }

  assert.equal(ids.length, 121, "a reader who goes on after the last id has missed none")
})
