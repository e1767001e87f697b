import assert from "node:assert/strict"
import { test } from "node:test"
import { portServer } from "@superstep/toolkit/testing/http-server"
import { isRefusal } from "../requests/client-error.js"
import { ownAgent } from "./use-agent.js"

test("a page learns at once that an agent does not answer, such as a paused one", async () => {
  let asked = 0
  using server = await portServer((_, reply) => {
    asked++
    reply.writeHead(503, { "content-type": "application/json" }).end(`{"detail":"it is paused","code":"paused"}`)
  })
  const agent = ownAgent(server.origin)

  await assert.rejects(agent.client.assistants.search(), isRefusal)

  assert.equal(asked, 1)
})
