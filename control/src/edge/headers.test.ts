import assert from "node:assert/strict"
import test from "node:test"
import { endToEnd, hasBody, requestHeaders, requestIdOf, responseHeaders, type Stamp } from "./headers.js"

const stamp = (change: Partial<Stamp> = {}): Stamp => ({
  caller: { address: "203.0.113.9", isTrusted: false, protocol: "http" },
  prefix: "/d/chat",
  requestId: "r-1",
  unitToken: "secret-of-unit",
  ...change,
})

test("headers of one connection stop here, with those that Connection lists", () => {
  const passing = endToEnd({
    connection: ["keep-alive, X-Hop", "x-other-hop"],
    "keep-alive": ["timeout=5"],
    "x-hop": ["1"],
    "x-other-hop": ["1"],
    te: ["trailers"],
    upgrade: ["h2c"],
    "http2-settings": ["x"],
    "set-cookie": ["a=1", "b=2"],
    "x-end": ["1"],
  })

  assert.deepEqual(passing, { "set-cookie": ["a=1", "b=2"], "x-end": "1" })
})

test("Connection cannot take away where a body ends or what the edge says", () => {
  const sent = requestHeaders(
    {
      connection: ["content-length, host, x-superstep-unit, x-forwarded-for"],
      "content-length": ["5"],
      host: ["agents.example"],
    },
    stamp(),
  )

  assert.equal(sent["content-length"], "5")
  assert.equal(sent.host, "agents.example")
  assert.equal(sent["x-superstep-unit"], "secret-of-unit")
  assert.equal(sent["x-forwarded-for"], "203.0.113.9")
})

test("a body in chunks goes on in chunks, whatever its method", () => {
  assert.equal(requestHeaders({ "transfer-encoding": ["chunked"] }, stamp())["transfer-encoding"], "chunked")
  assert.equal(requestHeaders({}, stamp())["transfer-encoding"], undefined)
  assert.deepEqual(
    [{ "transfer-encoding": ["chunked"] }, { "content-length": ["3"] }, { "content-length": ["0"] }, {}].map(hasBody),
    [true, true, false, false],
  )
})

test("what only the edge may say is taken off a caller, and the workspace's key goes no further", () => {
  const sent = requestHeaders(
    {
      "x-superstep-unit": ["forged"],
      "x-revision-id": ["forged"],
      "x-api-key": ["lsv2_key"],
      "x-forwarded-for": ["10.0.0.1"],
      "x-forwarded-proto": ["https"],
      "x-forwarded-host": ["evil.example"],
      "x-forwarded-prefix": ["/evil"],
      forwarded: ["for=10.0.0.1"],
      "x-real-ip": ["10.0.0.1"],
      host: ["agents.example"],
      authorization: ["Bearer of-the-agents-own-auth"],
    },
    stamp(),
  )

  assert.deepEqual(sent, {
    host: "agents.example",
    authorization: "Bearer of-the-agents-own-auth",
    "x-forwarded-for": "203.0.113.9",
    "x-forwarded-proto": "http",
    "x-forwarded-host": "agents.example",
    "x-forwarded-prefix": "/d/chat",
    "x-request-id": "r-1",
    "x-superstep-unit": "secret-of-unit",
  })
})

test("a trusted proxy is believed about its caller and adds itself", () => {
  const sent = requestHeaders(
    {
      "x-forwarded-for": ["198.51.100.7"],
      "x-forwarded-proto": ["https"],
      "x-forwarded-host": ["agents.example"],
      "x-forwarded-prefix": ["/agents/"],
      host: ["10.0.0.2:8901"],
    },
    stamp({ caller: { address: "10.0.0.1", isTrusted: true, protocol: "http" } }),
  )

  assert.equal(sent["x-forwarded-for"], "198.51.100.7, 10.0.0.1")
  assert.equal(sent["x-forwarded-proto"], "https")
  assert.equal(sent["x-forwarded-host"], "agents.example")
  assert.equal(sent["x-forwarded-prefix"], "/agents/d/chat")
})

test("an answer keeps its locations, and a stream tells proxies not to hold it back", () => {
  const told = responseHeaders(
    {
      location: ["/threads/t/runs/r/stream"],
      "content-location": ["/threads/t/runs/r"],
      "content-type": ["text/event-stream; charset=utf-8"],
      connection: ["keep-alive, x-hop"],
      "x-hop": ["1"],
      "x-revision-id": ["revision-1"],
    },
    "r-1",
  )

  assert.deepEqual(told, {
    location: "/threads/t/runs/r/stream",
    "content-location": "/threads/t/runs/r",
    "content-type": "text/event-stream; charset=utf-8",
    "x-revision-id": "revision-1",
    "x-accel-buffering": "no",
    "x-request-id": "r-1",
  })
})

test("a caller's request id is kept unless it is unfit for a log line", () => {
  assert.equal(
    requestIdOf({ "x-request-id": ["abc-1.2:3"] }, () => "fresh"),
    "abc-1.2:3",
  )
  assert.equal(
    requestIdOf({ "x-request-id": ["a b"] }, () => "fresh"),
    "fresh",
  )
  assert.equal(
    requestIdOf({ "x-request-id": ["x".repeat(129)] }, () => "fresh"),
    "fresh",
  )
  assert.equal(
    requestIdOf({}, () => "fresh"),
    "fresh",
  )
})
