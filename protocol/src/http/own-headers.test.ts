import assert from "node:assert/strict"
import { once } from "node:events"
import { createServer, type IncomingMessage } from "node:http"
import type { AddressInfo } from "node:net"
import { test } from "node:test"
import { isCredential, isSignedTicket, signTicket, takeOwnHeaders } from "./own-headers.js"
import { sendRaw } from "./testing/hostile-requests.js"

/** A request as received by Node's server. */
async function received(headers: string): Promise<IncomingMessage> {
  const server = createServer((_, response) => response.end()).listen(0, "127.0.0.1")
  await once(server, "listening")
  const { port } = server.address() as AddressInfo
  const arrived = once(server, "request")
  await sendRaw(port, `GET / HTTP/1.1\r\nHost: a\r\n${headers}Connection: close\r\n\r\n`)
  server.close()
  const [request] = await arrived
  return request
}

test("our headers are removed from every representation of headers in Node", async () => {
  const request = await received(
    "X-Superstep-Unit: u\r\nX-SUPERSTEP-Later: l\r\nX-Superstepped: kept\r\nX-A: x-superstep-unit\r\n",
  )

  const taken = takeOwnHeaders(request)

  assert.deepEqual(
    [...taken],
    [
      ["x-superstep-unit", "u"],
      ["x-superstep-later", "l"],
    ],
  )
  const kept = ["connection", "host", "x-a", "x-superstepped"]
  assert.deepEqual(Object.keys(request.headers).sort(), kept)
  assert.deepEqual(Object.keys(request.headersDistinct).sort(), kept)
  assert.deepEqual(request.rawHeaders.slice(2, 6), ["X-Superstepped", "kept", "X-A", "x-superstep-unit"])
})

test("a repeated header is not a valid credential", async () => {
  const taken = takeOwnHeaders(await received("x-superstep-unit: sesame\r\nX-Superstep-Unit: sesame\r\n"))

  assert.equal(isCredential(taken.get("x-superstep-unit"), "sesame"), false)
  assert.equal(isCredential("sesame", "sesame"), true)
  for (const wrong of [undefined, "", "sesam", "sesame "]) assert.equal(isCredential(wrong, "sesame"), false)
})

test("a ticket is valid only with the credential that signed it", () => {
  const ticket = signTicket("1", "secret")

  assert.equal(isSignedTicket(ticket, "secret"), true)
  for (const wrong of [undefined, "", "1", "1.", `2${ticket.slice(1)}`, `${ticket}.`, signTicket("1", "other")]) {
    assert.equal(isSignedTicket(wrong, "secret"), false, wrong)
  }
})
