import assert from "node:assert/strict"
import { once } from "node:events"
import { connect, createServer, type Socket } from "node:net"
import { join } from "node:path"
import { type TestContext, test } from "node:test"
import { interposeSocket } from "./interposed-socket.js"
import { temporaryFolder } from "./temporary-folder.js"
import { until } from "./until.js"

/** A server that keeps what it gets, behind the proxy, and a client of it. */
async function conversation(t: TestContext) {
  const path = join(temporaryFolder(), "socket")
  const servers: Socket[] = []
  const got = { server: "", client: "" }
  const listener = createServer({ allowHalfOpen: true }, (socket) => {
    servers.push(socket)
    socket.on("error", () => undefined).on("data", (piece) => (got.server += piece))
  })
  listener.listen(path)
  await once(listener, "listening")
  const proxy = await interposeSocket(path)
  const client = connect(path)
  client.on("error", () => undefined).on("data", (piece) => (got.client += piece))
  await until(() => servers.length === 1, { what: "the server is connected" })
  const [server] = servers
  assert.ok(server)
  t.after(async () => {
    client.destroy()
    await proxy[Symbol.asyncDispose]()
    listener.close()
  })
  return { proxy, client, server, got }
}

test("a cut lets half of a piece arrive, and closes both ends", async (t) => {
  const { proxy, client, server, got } = await conversation(t)
  const aim = proxy.aim({ kind: "cut", direction: "to server", bytes: 4 })
  const closed = Promise.all([once(client, "close"), once(server, "end")])

  client.write("abc")
  await until(() => got.server === "abc", { what: "a shorter piece arrives" })
  client.write("12345678")
  await closed

  assert.equal(got.server, "abc1234")
  assert.equal(aim.isHit, true)
  assert.equal(proxy.connections, 0)
})

test("of a direction that is swallowed nothing more arrives, and the other one goes on", async (t) => {
  const { proxy, client, server, got } = await conversation(t)
  const aim = proxy.aim({ kind: "swallow", direction: "to client", bytes: 2 })

  server.write("12345678")
  await aim.hit
  server.write("more")
  client.write("question")
  await until(() => got.server === "question", { what: "the question arrives" })

  assert.equal(got.client, "1234")
  assert.equal(client.destroyed || server.destroyed, false)
})
