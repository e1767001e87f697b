/** The response of `wait` and `join` on a real connection. */
import assert from "node:assert/strict"
import { connect } from "node:net"
import { test } from "node:test"
import { setTimeout as sleep } from "node:timers/promises"
import { portServer } from "@superstep/toolkit/testing/http-server"
import type { Context } from "hono"
import { encodeEvent } from "./event.js"
import { ResultResponse } from "./result-response.js"

const keepAliveMs = 5
// Far more than the buffers between two sockets hold.
const result = JSON.stringify({ text: "x".repeat(30_000_000) })

test("a slow client gets its complete result, without trailing white space", async () => {
  const response = new ResultResponse()
  await using server = await portServer((_, outgoing) => {
    const c = {
      env: { outgoing },
      res: { headers: new Headers() },
      get: () => ({ everyMs: keepAliveMs }),
    } as unknown as Context
    response.respond(c, { connection: "close" }, { find: async () => result, onLeave: () => undefined })
  })
  const client = connect(server.port, "127.0.0.1")
  client.write("GET / HTTP/1.0\r\n\r\n")
  await new Promise((resolve) => client.once("readable", resolve))

  const end = { runId: "r", seq: 1, place: 1, event: "end", data: Buffer.from("{}") }
  response.write(Buffer.alloc(0), [encodeEvent(end, "1")])
  response.end()
  // Several keep-alive intervals.
  for (let n = 0; n < 10; n++) await sleep(keepAliveMs)
  const chunks: Buffer[] = []
  for await (const chunk of client) chunks.push(chunk)

  const [, body = ""] = Buffer.concat(chunks)
    .toString()
    .split(/\r\n\r\n(.*)/s)
  assert.equal(body.trimStart() === result, true, "it is the result, with white space before it at most")
})
