import assert from "node:assert/strict"
import { once } from "node:events"
import { type RequestListener, request } from "node:http"
import { connect, type Socket } from "node:net"
import { test } from "node:test"
import { portServer } from "../testing/http-server.js"
import { until } from "../testing/until.js"
import { keepIdleConnections } from "./keep-alive.js"

/** A server and its side of the connections that it has accepted. */
async function serving(listener: RequestListener) {
  const it = await portServer(listener)
  keepIdleConnections(it.server)
  const accepted: Socket[] = []
  it.server.on("connection", (socket) => accepted.push(socket))
  return { ...it, accepted }
}

test("an idle connection is kept longer than the announced time", async () => {
  using it = await serving((_, response) => void response.end("answer"))
  const asked = request({ port: it.port, headers: { connection: "keep-alive" } }).end()

  const [response] = await once(asked, "response")
  response.resume()
  await once(response, "end")

  assert.equal(response.headers["keep-alive"], "timeout=75")
  await until(() => it.accepted[0]?.timeout === 90_000, { what: "the server waits for the next request" })
})

test("the idle time limit does not apply to a slow request", async () => {
  let finish: () => void = () => undefined
  using it = await serving((asked, response) => {
    if (asked.url === "/first") response.end("first")
    else finish = () => response.end("second")
  })
  const client = connect(it.port, "127.0.0.1")
  let text = ""
  client.setEncoding("utf8").on("data", (chunk) => {
    text += chunk
  })

  // Both at once: the second is there when the answer to the first is sent.
  client.write("GET /first HTTP/1.1\r\nhost: a\r\n\r\nGET /second HTTP/1.1\r\nhost: a\r\n\r\n")
  await until(() => text.includes("first"), { what: "the first answer" })
  const duringPipelined = it.accepted[0]?.timeout
  finish()
  await until(() => text.includes("second"), { what: "the second answer" })
  await until(() => it.accepted[0]?.timeout === 90_000, { what: "the connection is idle" })
  client.write("GET /third HTTP/1.1\r\nhost: a\r\n\r\n")
  await until(() => !it.accepted[0]?.timeout, { what: "the third request is there" })
  client.destroy()

  assert.ok(!duringPipelined, `${duringPipelined}`)
})
