/** Tickets of the server's own socket. */
import assert from "node:assert/strict"
import { once } from "node:events"
import type { ServerResponse } from "node:http"
import { connect } from "node:net"
import { test } from "node:test"
import { portServer } from "@superstep/toolkit/testing/http-server"
import { until } from "@superstep/toolkit/testing/until"
import type { Context } from "hono"
import type { Ticket } from "../http/origin.js"
import { openOwnChannel } from "./own-channel.js"

test("the ticket of a client that has left is over at once, so that the gate's process can be replaced", async (t) => {
  const channel = await openOwnChannel()
  t.after(() => channel.close())
  let outgoing: ServerResponse | undefined
  await using server = await portServer((_, response) => {
    outgoing = response
  })
  const client = connect(server.port, "127.0.0.1")
  client.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
  const asked = await until(() => outgoing, { what: "the request" })
  const closed = once(asked, "close")
  client.destroy()
  await closed

  let isOver = false
  const { done } = channel.issue({ env: { outgoing } } as unknown as Context, {} as Ticket)
  void done.then(() => {
    isOver = true
  })

  await until(() => isOver, { what: "the end of the ticket" })
  assert.ok(isOver)
})
