import assert from "node:assert/strict"
import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { test } from "node:test"
import { isRefusal } from "../requests/client-error.js"
import { ownAgent } from "./use-agent.js"

test("a page learns at once that an agent does not answer, such as a paused one", async () => {
  let asked = 0
  const server = createServer((_, reply) => {
    asked++
    reply.writeHead(503, { "content-type": "application/json" }).end(`{"detail":"it is paused","code":"paused"}`)
  }).listen(0, "127.0.0.1")
  await once(server, "listening")
  const agent = ownAgent(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)

  await assert.rejects(agent.client.assistants.search(), isRefusal)

  assert.equal(asked, 1)
  server.close()
  server.closeAllConnections()
})
