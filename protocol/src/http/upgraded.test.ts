import assert from "node:assert/strict"
import { once } from "node:events"
import { createServer } from "node:http"
import { type AddressInfo, connect, type Socket } from "node:net"
import test from "node:test"
import { beginRefusal } from "./upgraded.js"

/** Asks a server that refuses all WebSockets for one. @returns  both ends of the connection, after the answer */
async function refused() {
  const server = createServer()
  server.on("upgrade", (_, socket) => beginRefusal(socket, 401, ["x-why", "because"]).end("no"))
  await once(server.listen(0, "127.0.0.1"), "listening")
  const client = connect({ port: (server.address() as AddressInfo).port, host: "127.0.0.1", allowHalfOpen: true })
  client.on("error", () => undefined)
  const upgrade = once(server, "upgrade") as Promise<[unknown, Socket]>
  client.write("GET / HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n")
  const [, atServer] = await upgrade
  const closed = once(atServer, "close")
  let answer = ""
  client.on("data", (chunk) => {
    answer += chunk
  })
  await once(client, "end")
  return { client, closed, answer, [Symbol.asyncDispose]: async () => void server.close() }
}

test("a refused WebSocket has the answer, and its connection ends with a client that sends more and leaves", async () => {
  await using connection = await refused()

  connection.client.write("frames")
  connection.client.destroy()

  await connection.closed
  assert.equal(connection.answer, "HTTP/1.1 401 Unauthorized\r\nx-why: because\r\nconnection: close\r\n\r\nno")
})

test("a refused client that neither closes nor stops to send is closed", async () => {
  await using connection = await refused()
  const sending = setInterval(() => connection.client.write("frames"), 100)

  await connection.closed

  clearInterval(sending)
  connection.client.destroy()
})
