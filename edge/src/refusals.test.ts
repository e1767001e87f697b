import assert from "node:assert/strict"
import { once } from "node:events"
import { request as httpRequest, type IncomingMessage } from "node:http"
import test from "node:test"
import { sendRaw } from "@superstep/protocol/http/testing/hostile-requests"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { until } from "@superstep/toolkit/testing/until"
import { edgeWithUnit, gate, key, readBody, route, startUnit, withKey } from "./testing/harness.js"

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

const detailOf = async (response: Response) => (await response.json()) as { detail: string; code: string }

test("a request needs a key, except health checks and preflights", async () => {
  await using setup = await notingEdge()
  const preflight = { method: "OPTIONS", headers: { "access-control-request-method": "POST", origin: "http://a.test" } }

  const without = await fetch(`${setup.chat}/threads`)
  const wrong = await fetch(`${setup.chat}/threads`, { headers: { "x-api-key": "wrong" } })

  assert.equal(without.status, 401)
  assert.equal(wrong.status, 401)
  assert.match((await detailOf(without)).detail, /x-api-key/)
  assert.equal(without.headers.get("access-control-allow-origin"), "*")
  assert.equal((await fetch(`${setup.chat}/ok`)).status, 200)
  assert.equal((await fetch(`${setup.chat}/threads`, preflight)).status, 200)
  assert.equal((await fetch(`${setup.chat}/threads`, { headers: withKey })).status, 200)
  assert.deepEqual(fieldsOf(setup.seen, "url"), ["/ok", "/threads", "/threads"])
})

test("a unit gets its token and the caller's address, and no forged headers", async () => {
  await using setup = await notingEdge()
  const headers = {
    ...withKey,
    "x-superstep-unit": "forged",
    "x-revision-id": "forged",
    "x-forwarded-for": "10.9.9.9",
    "x-custom": "kept",
    connection: "close, x-hop, x-superstep-unit",
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
  assert.deepEqual(got.headers["x-forwarded-host"], [`127.0.0.1:${setup.edge.port}`])
  assert.deepEqual(got.headers["x-custom"], ["kept"])
  for (const absent of ["x-hop", "x-revision-id", "x-api-key"]) assert.equal(got.headers[absent], undefined, absent)
  assert.equal(response.headers["x-request-id"], got.headers["x-request-id"]?.[0])
})

test("an ambiguously framed request is refused, or forwarded as one request", async () => {
  await using setup = await notingEdge()
  const head = `Host: a\r\nx-api-key: ${key}\r\n`
  const hidden = "GET /hidden HTTP/1.1\r\nHost: a\r\n\r\n"
  const send = (text: string) => sendRaw(setup.edge.port, text)

  const twoLengths = await send(`POST /d/chat/x HTTP/1.1\r\n${head}Content-Length: 1\r\nContent-Length: 2\r\n\r\nab`)
  const both = await send(
    `POST /d/chat/x HTTP/1.1\r\n${head}Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${hidden}`,
  )
  const twoHosts = await send(`GET /d/chat/x HTTP/1.1\r\n${head}Host: b\r\nConnection: close\r\n\r\n`)
  for (const answer of [twoLengths, both, twoHosts]) assert.match(answer, /^HTTP\/1\.1 400 /)
  assert.equal(setup.seen.length, 0)

  const sized = `Connection: close, content-length\r\nContent-Length: ${hidden.length}\r\n\r\n${hidden}`
  const chunk = `Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n${hidden.length.toString(16)}\r\n${hidden}\r\n0\r\n\r\n`
  for (const rest of [sized, chunk]) {
    assert.match(await send(`GET /d/chat/x HTTP/1.1\r\n${head}${rest}`), /^HTTP\/1\.1 200 /)
  }
  assert.deepEqual(
    setup.seen.map(({ url, body }) => ({ url, body })),
    [
      { url: "/x", body: hidden },
      { url: "/x", body: hidden },
    ],
  )
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
  assert.equal((await detailOf(unknown)).detail, "No deployment is reachable at /d/nobody")
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

test("the unit with the fewest open requests gets the next one", async () => {
  const wanted = gate()
  const held: string[] = []
  const hold = (id: string) => async (_: IncomingMessage, response: import("node:http").ServerResponse) => {
    held.push(id)
    await wanted.passed
    response.end(id)
  }
  await using setup = await edgeWithUnit(hold("u1"))
  await using second = await startUnit(setup.folder, "u2", hold("u2"))
  await setup.edge.take({ generation: 2, routes: [route("chat", [setup.unit.unit, second.unit])] })

  const asked: Promise<Response>[] = []
  for (let count = 1; count <= 6; count++) {
    asked.push(fetch(`${setup.chat}/x`, { headers: withKey }))
    await until(() => held.length === count, { what: `request ${count} is at a unit` })
  }
  wanted.open()
  await Promise.all(asked)

  assert.equal(held.filter((id) => id === "u1").length, 3)
})
