import assert from "node:assert/strict"
import { test } from "node:test"
import { exampleDeployment, startApi } from "../testing/api.js"
import { cleanLine, hideSecrets } from "./log-line.js"
import { appendLogLines, lastLogLines } from "./operations.js"

const asIs = (text: string) => text

test("a stored line has no terminal codes, control characters or excess (G2)", () => {
  assert.equal(cleanLine("\u001b[31mred\u001b[0m\u0000\r", asIs), "red")
  assert.equal(cleanLine("a\tb", asIs), "a\tb")
  const long = cleanLine("ä".repeat(20_000), asIs)
  assert.ok(Buffer.byteLength(long) <= 16 * 1024)
  assert.match(long, /^ä+ … \[line cut\]$/)
})

test("a secret is hidden in every form it may be printed in (G2)", () => {
  const value = 'pass word"/+ü'
  const hide = hideSecrets([value, "short", "first line\nsecond line"])
  const forms = [
    value,
    encodeURIComponent(value),
    Buffer.from(value).toString("base64"),
    JSON.stringify(value).slice(1, -1),
    "second line",
  ]

  for (const form of forms) assert.equal(hide(`a ${form} b`), "a [secret] b")
  assert.equal(hide("short words stay"), "short words stay")
})

test("a long secret leaves nothing of itself before the cut (G2)", () => {
  const secret = "s".repeat(30_000)

  assert.equal(cleanLine(`token ${secret}`, hideSecrets([secret])), "token [secret]")
})

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

test("a log is read page by page, and followed with the last offset (G1)", async () => {
  const { api, v2, revisionId } = await withLines(3)
  await using _ = api

  const first = await api.call("GET", `${v2}?type=build&limit=2`)
  const second = await api.call("GET", `${v2}?type=build&limit=2&offset=${first.body.next_offset}`)
  const nothing = await api.call("GET", `${v2}?type=build&offset=${second.body.next_offset}`)
  await appendLogLines(api.db, revisionId, "build", ["line 4"])
  const followed = await api.call("GET", `${v2}?type=build&offset=${second.body.next_offset}`)

  assert.deepEqual(messages(first.body), ["line 1", "line 2"])
  assert.deepEqual(messages(second.body), ["line 3"])
  assert.deepEqual(nothing.body, { logs: [], next_offset: null })
  assert.deepEqual(messages(followed.body), ["line 4"])
})

test("the CLIs' requests work: newest first, then from the newest time on without repeats (G1)", async () => {
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
  assert.equal(older.body.next_offset, null)
  const fresh = since.body.logs.filter(({ id }: { id: string }) => !known.has(id))
  assert.ok(messages({ logs: fresh }).includes("line 4"))
  assert.equal(empty.body.logs.length, 4, "an empty body asks for everything")
})

test("lines are filtered by stream, level, words and time", async () => {
  const { api, v2, id, revisionId } = await withLines(1)
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
})

test("malformed requests for logs are 422", async () => {
  const { api, v1, v2 } = await withLines(1)
  await using _ = api
  for (const query of ["", "type=run", "type=build&limit=1001", "type=build&offset=x", "type=build&level=loud"]) {
    assert.equal((await api.call("GET", `${v2}?${query}`)).status, 422, query)
  }
  for (const body of [{ limit: 0 }, { order: "up" }, { start_time: "soon" }, { offset: "-1" }, { query: "\u0000" }]) {
    assert.equal((await api.call("POST", v1, { body })).status, 422, JSON.stringify(body))
  }
})

test("the last lines come oldest first, without the secrets they were said with (G2)", async () => {
  const { api, revisionId } = await withLines(5)
  await using _ = api

  await appendLogLines(api.db, revisionId, "build", ["key sk-very-secret"], { secrets: ["sk-very-secret"] })
  const last = await lastLogLines(api.db, revisionId, "build", 2)

  assert.deepEqual(
    last.map(({ message }) => message),
    ["line 5", "key [secret]"],
  )
})
