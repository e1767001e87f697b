import assert from "node:assert/strict"
import test from "node:test"
import { personIn } from "@superstep/protocol/http/person"
import { type AskedHeaders, hasBody, requestHeaders, requestIdOf, responseHeaders, type Stamp } from "./headers.js"

const stamp = (change: Partial<Stamp> = {}): Stamp => ({
  caller: { address: "203.0.113.9", isTrusted: false, protocol: "http" },
  prefix: "/d/chat",
  requestId: "r-1",
  unitToken: "secret-of-unit",
  isConsole: false,
  person: undefined,
  mayApprove: true,
  httpVersion: "1.1",
  ...change,
})

/** Headers in the form that Node gives them. */
function asked(lists: Readonly<Record<string, string[]>>): AskedHeaders {
  const rawHeaders = Object.entries(lists).flatMap(([name, lines]) => lines.flatMap((line) => [name, line]))
  return { rawHeaders, headersDistinct: lists }
}

/** A flat list by name; fails on a name that appears twice. */
function byName(flat: readonly string[]): Record<string, string> {
  const entries = flat.flatMap((name, at) => (at % 2 === 0 ? [[name, flat[at + 1] ?? ""] as const] : []))
  assert.equal(new Set(entries.map(([name]) => name)).size, entries.length, flat.join(" "))
  return Object.fromEntries(entries)
}

test("a unit learns whose session sends a request, and by another credential that they may not approve", () => {
  const forged = asked({ "x-superstep-person": ["e30"], "x-superstep-unit-no-approval": ["guess"] })
  const person = { person_id: "p1", name: "Ann Ångström", email: "ann@example.com" }

  const plain = byName(requestHeaders(forged, stamp()))
  const may = byName(requestHeaders(forged, stamp({ person })))
  const mayNot = byName(requestHeaders(forged, stamp({ person, mayApprove: false })))

  assert.deepEqual([plain["x-superstep-person"], plain["x-superstep-unit-no-approval"]], [undefined, undefined])
  assert.deepEqual(personIn(may["x-superstep-person"] ?? ""), person)
  assert.deepEqual([may["x-superstep-unit"], may["x-superstep-unit-no-approval"]], ["secret-of-unit", undefined])
  assert.deepEqual([mayNot["x-superstep-unit"], mayNot["x-superstep-unit-no-approval"]], [undefined, "secret-of-unit"])
})

test("the unit learns that a caller speaks HTTP/1.0, on which an answer that breaks off looks whole", () => {
  const via = (httpVersion: string) => byName(requestHeaders(asked({}), stamp({ httpVersion }))).via

  assert.deepEqual([via("1.0"), via("1.1")], ["1.0 superstep", undefined])
})

test("a Content-Length or chunks mean a body, for every method", () => {
  const [chunked, sized, empty] = [
    { "transfer-encoding": ["chunked"] },
    { "content-length": ["3"] },
    { "content-length": ["0"] },
  ]
  assert.deepEqual([chunked, sized, empty, {}].map(hasBody), [true, true, false, false])
})

test("headers that only the edge may set are removed from requests, and so is the workspace's key", () => {
  const sent = requestHeaders(
    asked({
      "x-superstep-unit": ["forged"],
      "x-superstep-ticket": ["forged"],
      "X-Superstep-User": ["forged"],
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
    }),
    stamp(),
  )

  assert.deepEqual(byName(sent), {
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

test("forwarding headers of a trusted proxy are kept and extended", () => {
  const headers = requestHeaders(
    asked({
      "x-forwarded-for": ["198.51.100.7"],
      "x-forwarded-proto": ["https"],
      "x-forwarded-host": ["agents.example"],
      "x-forwarded-prefix": ["/agents/"],
      host: ["10.0.0.2:8901"],
    }),
    stamp({ caller: { address: "10.0.0.1", isTrusted: true, protocol: "http" } }),
  )

  const sent = byName(headers)
  assert.equal(sent["x-forwarded-for"], "198.51.100.7, 10.0.0.1")
  assert.equal(sent["x-forwarded-proto"], "https")
  assert.equal(sent["x-forwarded-host"], "agents.example")
  assert.equal(sent["x-forwarded-prefix"], "/agents/d/chat")
})

test("an answer keeps its Location headers, and a stream disables proxy buffering", () => {
  const reported = responseHeaders(
    [
      ...["location", "/threads/t/runs/r/stream", "content-location", "/threads/t/runs/r"],
      ...["content-type", "text/event-stream; charset=utf-8", "connection", "keep-alive, x-hop", "x-hop", "1"],
      ...["x-revision-id", "revision-1"],
    ],
    "r-1",
  )

  assert.deepEqual(byName(reported), {
    location: "/threads/t/runs/r/stream",
    "content-location": "/threads/t/runs/r",
    "content-type": "text/event-stream; charset=utf-8",
    "x-revision-id": "revision-1",
    "x-accel-buffering": "no",
    "x-request-id": "r-1",
  })
})

test("a caller's request id is kept unless it is unfit for a log line", () => {
  const idOf = (...lines: string[]) => requestIdOf(lines.length > 0 ? { "x-request-id": lines } : {}, () => "fresh")

  assert.equal(idOf("abc-1.2:3"), "abc-1.2:3")
  for (const unfit of ["a b", "x".repeat(129)]) assert.equal(idOf(unfit), "fresh", unfit)
  assert.equal(idOf(), "fresh")
})
