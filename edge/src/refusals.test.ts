import assert from "node:assert/strict"
import { once } from "node:events"
import { request as httpRequest, type IncomingMessage } from "node:http"
import test from "node:test"
import { edgeWithUnit, readBody, route, startUnit, withKey } from "./testing/harness.js"

const limited = { SUPERSTEP_EDGE_MAX_BODY_BYTES: "1000" }

interface Seen {
  method: string | undefined
  url: string | undefined
  headers: NodeJS.Dict<string[]>
  body: string
}

/** An edge in front of a unit that records its requests. */
async function notingEdge(env: Record<string, string> = {}) {
  const seen: Seen[] = []
  const setup = await edgeWithUnit(async (request, response) => {
    const { method, url, headersDistinct: headers } = request
    // The request of a client that left in the middle is not recorded.
    const body = await readBody(request).catch(() => undefined)
    if (body) seen.push({ method, url, headers, body: body.toString() })
    response.end("{}")
  }, env)
  return Object.assign(setup, { seen })
}

const detailOf = async (response: Response) => (await response.json()) as Record<"detail" | "code" | "doc_url", string>

test("a unit gets its token and the caller's address, and no forged headers", async () => {
  await using setup = await notingEdge()
  const headers = {
    ...withKey,
    "x-superstep-unit": "forged",
    "x-revision-id": "forged",
    "x-forwarded-for": "10.9.9.9",
    "x-custom": "kept",
    connection: "close, host, x-hop, x-superstep-unit, x-forwarded-for",
    "x-hop": "1",
  }
  const request = httpRequest(`${setup.chat}/a%2Fb?q=%20`, { headers }).end()
  const [response] = (await once(request, "response")) as [IncomingMessage]
  await readBody(response)

  const [got] = setup.seen
  assert.ok(got)
  assert.equal(got.url, "/a%2Fb?q=%20")
  assert.deepEqual(got.headers["x-superstep-unit"], ["token-of-u1"])
  assert.deepEqual(got.headers["x-forwarded-for"], ["127.0.0.1"])
  assert.deepEqual(got.headers["x-forwarded-prefix"], ["/d/chat"])
  for (const name of ["host", "x-forwarded-host"])
    assert.deepEqual(got.headers[name], [`127.0.0.1:${setup.edge.port}`], name)
  assert.deepEqual(got.headers["x-custom"], ["kept"])
  for (const absent of ["x-hop", "x-revision-id", "x-api-key"]) assert.equal(got.headers[absent], undefined, absent)
  assert.equal(response.headers["x-request-id"], got.headers["x-request-id"]?.[0])
})

test("an answer with headers above 64 KB is not passed on, and says so", async () => {
  await using setup = await edgeWithUnit((_, response) => response.setHeader("x-long", "a".repeat(300_000)).end("{}"))

  const reply = await fetch(`${setup.chat}/x`, { headers: withKey })

  assert.equal(reply.status, 502)
  assert.match((await detailOf(reply)).detail, /answered with headers above 64 KB, which are not passed on/)
})

test("headers above 64 KB are refused", async () => {
  await using setup = await notingEdge()

  const within = await fetch(`${setup.chat}/x`, { headers: { ...withKey, "x-long": "a".repeat(50_000) } })
  const above = await fetch(`${setup.chat}/x`, { headers: { ...withKey, "x-long": "a".repeat(70_000) } })

  assert.equal(within.status, 200)
  assert.equal(above.status, 431)
  const { detail, code, request_id } = (await above.json()) as Record<string, string>
  assert.deepEqual([detail, code], ["the address and headers of a request are limited to 64 KB", "bad_request"])
  assert.equal(request_id, above.headers.get("x-request-id"))
})

test("a body above the limit is refused by its Content-Length and by counting", async () => {
  await using setup = await notingEdge(limited)
  const post = (body: string | ReadableStream) =>
    fetch(`${setup.chat}/x`, { method: "POST", headers: withKey, body, duplex: "half" })
  const chunked = (bytes: number) => new Blob(["a".repeat(bytes)]).stream()

  assert.equal((await post("a".repeat(1000))).status, 200)
  assert.equal((await post(chunked(1000))).status, 200)
  for (const body of ["a".repeat(1001), chunked(1001), chunked(300_000)]) {
    const response = await post(body)
    assert.equal(response.status, 413)
    assert.match((await detailOf(response)).detail, /1000 bytes/)
  }
  assert.equal(setup.seen.length, 2)
})

test("a caller that is still sending receives an early answer", async () => {
  await using setup = await edgeWithUnit((_, response) => {
    response.writeHead(401).end('{"detail":"not you"}')
  })

  const body = Buffer.alloc(4 * 1024 * 1024)
  const response = await fetch(`${setup.chat}/x`, { method: "POST", headers: withKey, body })

  assert.equal(response.status, 401)
  assert.equal((await detailOf(response)).detail, "not you")
})

test("unknown names are 404, and a route without a unit that answers is 503", async () => {
  await using setup = await notingEdge()
  await using folder = await startUnit(setup.folder, "gone", () => undefined)
  await folder.close()
  await setup.edge.take({ generation: 2, routes: [route("none", []), route("gone", [folder.unit])] })

  const unknown = await fetch(`${setup.edge.url}/d/nobody/ok`)
  assert.equal(unknown.status, 404)
  const { detail, doc_url } = await detailOf(unknown)
  assert.deepEqual([detail, doc_url], ["No deployment is reachable at /d/nobody", "docs/errors.md#not_found"])
  for (const name of ["none", "gone"]) {
    const response = await fetch(`${setup.edge.url}/d/${name}/threads`, { headers: withKey })
    assert.equal(response.status, 503, name)
    assert.equal(response.headers.get("retry-after"), "1")
    assert.equal((await detailOf(response)).code, "unavailable")
  }
})

test("E1: a request is never sent twice, and its caller gets 502", async () => {
  let count = 0
  const answer = (request: IncomingMessage) => {
    count += 1
    request.socket.destroy()
  }
  await using setup = await edgeWithUnit(answer)
  await using other = await startUnit(setup.folder, "u2", answer)
  await setup.edge.take({ generation: 2, routes: [route("chat", [setup.unit.unit, other.unit])] })

  const response = await fetch(`${setup.chat}/runs`, { method: "POST", headers: withKey, body: "{}" })

  assert.equal(response.status, 502)
  assert.equal((await detailOf(response)).code, "bad_gateway")
  assert.equal(count, 1)
})

test("an unreachable unit causes no failed request while another one answers", async () => {
  await using setup = await notingEdge()
  await using gone = await startUnit(setup.folder, "gone", () => undefined)
  await gone.close()
  await setup.edge.take({ generation: 2, routes: [route("chat", [gone.unit, setup.unit.unit])] })

  for (let count = 0; count < 10; count++) {
    const response = await fetch(`${setup.chat}/x`, { method: "POST", headers: withKey, body: `body ${count}` })
    assert.equal(response.status, 200)
  }

  assert.equal(setup.seen.length, 10)
})

test("a request waits for a unit that restarts at its path", async () => {
  await using setup = await edgeWithUnit((_, response) => void response.end("first"))
  await setup.unit.close()

  const asked = fetch(`${setup.chat}/x`, { method: "POST", headers: withKey, body: "{}" })
  await using _back = await startUnit(setup.folder, "u1", (_, response) => void response.end("second"))

  assert.equal(await (await asked).text(), "second")
})
