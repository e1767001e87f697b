import assert from "node:assert/strict"
import test from "node:test"
import { answerHeadersOnward, headerValue, requestHeadersOnward } from "./end-to-end.js"

/** As Node gives headers: names and values in turn. */
const headersOf = (...lines: string[]) => lines.flatMap((line) => line.split(": "))

test("headers of one connection are not forwarded, nor those that Connection lists", () => {
  const ofConnection = headersOf("Connection: keep-alive, X-Hop", "Keep-Alive: timeout=5", "X-Hop: 1", "X-Other-Hop: 1")
  const ofOthers = headersOf("TE: trailers", "connection: x-other-hop", "Upgrade: h2c", "HTTP2-Settings: x")
  const ofProxies = headersOf("Trailer: X-Sum", "Proxy-Authorization: p")
  const passing = headersOf("Set-Cookie: a=1", "X-End: 1", "Set-Cookie: b=2")

  for (const onward of [requestHeadersOnward, answerHeadersOnward])
    assert.deepEqual(onward([...ofConnection, ...ofOthers, ...ofProxies, ...passing]), passing)
})

test("headers that frame a request body are not forwarded, and a response keeps its length", () => {
  const headers = ["Content-Length", "5", "Transfer-Encoding", "chunked", "Expect", "100-continue", "A", "b"]

  assert.deepEqual(requestHeadersOnward(headers), ["A", "b"])
  assert.deepEqual(answerHeadersOnward(headers), ["Content-Length", "5", "Expect", "100-continue", "A", "b"])
})

test("Connection cannot remove the headers that name the request's target", () => {
  assert.deepEqual(requestHeadersOnward(["Connection", "host , x-a", "Host", "a.example", "X-A", "1"]), [
    "Host",
    "a.example",
  ])
})

test("a hop can exclude further headers by their lower-case names", () => {
  const passing = requestHeadersOnward(["X-Api-Key", "k", "X-A", "1"], (name) => name === "x-api-key")

  assert.deepEqual(passing, ["X-A", "1"])
  assert.deepEqual([headerValue(passing, "x-a"), headerValue(passing, "1")], ["1", undefined])
})
