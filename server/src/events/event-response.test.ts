import assert from "node:assert/strict"
import { once } from "node:events"
import { get, type IncomingMessage, type ServerResponse } from "node:http"
import { test } from "node:test"
import { portServer } from "@superstep/toolkit/testing/http-server"
import type { Context } from "hono"
import { EventResponse } from "./event-response.js"
import { ReaderBudget } from "./reader-budget.js"

const megabyte = 1024 * 1024

/** An open stream: the server's end, and a client that reads nothing yet. */
async function openStream({ stalledMs, budget = new ReaderBudget() }: { stalledMs?: number; budget?: ReaderBudget }) {
  const { server, port, ...place } = await portServer(() => undefined)
  const call = get({ host: "127.0.0.1", port, agent: false })
  const [, outgoing] = (await once(server, "request")) as [IncomingMessage, ServerResponse]
  const context = { env: { outgoing }, res: { headers: new Headers() }, get: () => undefined } as unknown as Context
  const response = new EventResponse(context, () => true, { budget, ...(stalledMs !== undefined && { stalledMs }) })
  let hasLeft = false
  response.respond(context, {}, () => {
    hasLeft = true
  })
  const [client] = (await once(call, "response")) as [IncomingMessage]
  client.pause()
  // The client gets an error event when its stream is cut.
  client.on("error", () => undefined)
  return {
    response,
    client,
    budget,
    hasLeft: () => hasLeft,
    [Symbol.asyncDispose]: async () => {
      client.destroy()
      await place[Symbol.asyncDispose]()
    },
  }
}

test("a client that reads nothing although data is waiting is disconnected, and no longer delays anything", async () => {
  const budget = new ReaderBudget()
  await using stream = await openStream({ stalledMs: 50, budget })
  stream.response.write(Buffer.alloc(20 * megabyte))

  await stream.response.drained()

  assert.equal(stream.hasLeft(), true)
  assert.equal(stream.response.drained(), undefined)
})

test("a client counts as behind until it has read what was sent", async () => {
  await using stream = await openStream({})
  const early = stream.response.drained()
  stream.response.write(Buffer.alloc(20 * megabyte))
  const drained = stream.response.drained()

  stream.client.resume()
  await drained

  assert.equal(early, undefined)
  assert.ok(drained)
  assert.equal(stream.response.drained(), undefined)
  assert.equal(stream.hasLeft(), false)
})

test("all clients share one budget, and a disconnected one returns its share", () => {
  const budget = new ReaderBudget()
  const alone = budget.aheadBytes
  const leave = Array.from({ length: 1000 }, () => budget.enter())
  const many = budget.aheadBytes
  for (const each of [...leave, ...leave]) each()

  assert.equal(alone, megabyte)
  assert.ok(many * 1000 <= 128 * megabyte, `${many} bytes each`)
  assert.equal(budget.aheadBytes, alone)
})
