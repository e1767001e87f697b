import assert from "node:assert/strict"
import { test } from "node:test"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { freshHttp } from "./testing/test-http.js"

test("a foreign web page cannot start a run on a development server, not even without a preflight", async () => {
  const app = "https://app.example"
  await using http = await freshHttp({ isDev: true, http: { cors: { allow_origins: [app] } } })
  const send = (origin: string) =>
    http.send("POST", "/runs", { assistant_id: "none" }, { origin, "content-type": "text/plain" })

  const foreign = await Promise.all(["https://evil.example", "null", "https://localhost.evil.example"].map(send))
  const known = await Promise.all(["http://localhost:3000", "https://smith.langchain.com", app].map(send))
  const preflight = await http.send("OPTIONS", "/runs", undefined, { origin: app })

  assert.deepEqual(fieldsOf([...foreign, ...known], "status"), [403, 403, 403, 404, 404, 404])
  assert.equal(preflight.headers.get("access-control-allow-origin"), app)
})

test("a path of a known route with another method, also HEAD of a stream, is 405 and lists the allowed methods, an unknown path is 404", async () => {
  await using http = await freshHttp()

  const { json } = await http.send("POST", "/threads", {})
  const { thread_id } = json as { thread_id: string }
  const run = await http.send("POST", `/threads/${thread_id}/runs`, { assistant_id: "agent", input: {} })
  const { run_id } = run.json as { run_id: string }

  const head = await http.send("HEAD", `/threads/${thread_id}/runs/${run_id}/stream`)
  const wrong = await http.send("DELETE", "/ok")
  const ofThread = await http.send("PUT", "/threads/00000000-0000-0000-0000-000000000000")
  const unknown = await http.send("GET", "/nothing")

  assert.deepEqual([head.status, head.headers.get("allow")], [405, "GET, POST"])
  assert.equal(http.server.streams.runs.has(run_id), false)
  assert.deepEqual([wrong.status, wrong.headers.get("allow")], [405, "GET, HEAD"])
  assert.equal((wrong.json as { detail: string }).detail, "Method Not Allowed")
  assert.equal(ofThread.status, 405)
  assert.match(ofThread.headers.get("allow") ?? "", /GET/)
  assert.deepEqual([unknown.status, (unknown.json as { detail: string }).detail], [404, "Not Found"])
})

test("a trailing slash is ignored, and an encoded slash is part of its segment", async () => {
  await using http = await freshHttp()
  const { thread_id } = (await http.send("POST", "/threads/")).json as { thread_id: string }

  const found = await http.send("GET", `/threads/${thread_id}/`)
  const escaped = await http.send("GET", `/%74hreads/${thread_id}`)
  const statuses = await Promise.all(
    [`/threads%2F${thread_id}`, `/threads/${thread_id}%2Fstate`, "/threads/%zz", "/threads/%ff", "/threads/%00"].map(
      async (path) => (await http.send("GET", path)).status,
    ),
  )

  assert.deepEqual([found.status, escaped.status], [200, 200])
  assert.deepEqual(statuses, [404, 422, 422, 422, 422])
})

test("with a mount prefix all routes are below it, except /ok", async () => {
  await using http = await freshHttp({ http: { mount_prefix: "/agents/" }, unitToken: "t" })
  const token = { "x-superstep-unit": "t" }
  const statusOf = async (method: string, path: string) => (await http.send(method, path, undefined, token)).status

  const below = [await statusOf("POST", "/agents/threads"), await statusOf("GET", "/agents/ok")]
  const beside = await Promise.all(["/threads", "/info", "/agentsinfo"].map((path) => statusOf("GET", path)))

  // The edge blocks these paths in one spelling only.
  for (const path of ["/agents/internal/status", "/agents/%69nternal/status", "/%61gents/internal/status"])
    assert.equal(await statusOf("GET", path), 404, path)
  assert.equal(await statusOf("GET", "/internal/status"), 200)
  assert.deepEqual(below, [200, 200])
  assert.deepEqual(beside, [404, 404, 404])
  assert.equal(await statusOf("GET", "/ok"), 200)
})

test("disabled routes reply 404, whatever the spelling of their path", async () => {
  await using http = await freshHttp({ http: { disable_threads: true, disable_meta: true, disable_runs: false } })
  const id = "00000000-0000-0000-0000-000000000000"
  const statusOf = async (method: string, path: string) => (await http.send(method, path)).status

  for (const path of ["/threads", "/threads/", "/%74hreads", "/%54hreads/../threads", "/threads?x=1"]) {
    assert.equal(await statusOf("POST", path), 404, path)
  }
  const read = [`/threads/${id}`, `/threads/${id}/state`, "/info", "/info/", "/openapi.json", "/openapi%2Ejson"]
  for (const path of read) assert.equal(await statusOf("GET", path), 404, path)
  // The thread does not exist, but the route does.
  assert.equal(await statusOf("POST", `/threads/${id}/runs`), 422)
  assert.equal(await statusOf("GET", "/ok"), 200)
})

test("with API keys every request except /ok requires one of them", async () => {
  await using http = await freshHttp({ apiKeys: "first, second" })
  const withKey = (key: string) => http.send("POST", "/threads", {}, { "x-api-key": key })

  const without = await http.send("POST", "/threads", {})

  assert.deepEqual([without.status, (without.json as { code: string }).code], [401, "unauthenticated"])
  for (const key of ["first", "second"]) assert.equal((await withKey(key)).status, 200)
  for (const key of ["", "third", "first, second", "firs"]) assert.equal((await withKey(key)).status, 401)
  assert.equal((await http.send("GET", "/ok")).status, 200)
  assert.equal((await http.send("GET", "/info")).status, 401)
})

test("a body without a length is counted while it is read, and rejected when it is too large", async () => {
  await using http = await freshHttp({ maxBodyBytes: 1_000 })
  const sendChunked = async (size: number): Promise<number> => {
    const body = new Blob([JSON.stringify({ assistant_id: "none", input: "x".repeat(size) })]).stream()
    const headers = { "content-type": "application/json" }
    const reply = await fetch(`${http.url}/runs`, { method: "POST", body, duplex: "half", headers })
    await reply.text()
    return reply.status
  }

  const tooLarge = await sendChunked(2_000)
  const small = await sendChunked(100)

  assert.deepEqual([tooLarge, small], [413, 404])
})
