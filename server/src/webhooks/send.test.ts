/** Webhook calls to real receivers. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { lateOnBusyMachineMs } from "@superstep/toolkit/testing/busy-machine"
import type { CallResult } from "@superstep/toolkit/webhooks/send"
import { startReceiver } from "@superstep/toolkit/webhooks/testing/receiver"
import { callWebhook } from "./send.js"
import { testWebhooks } from "./testing/settings.js"
import type { UrlRules } from "./url-rules.js"

const call = (
  url: string,
  { rules = testWebhooks, timeoutMs = 10_000 }: { rules?: UrlRules; timeoutMs?: number } = {},
) =>
  callWebhook({
    url,
    headers: { "x-a": "b" },
    body: "{}",
    rules,
    callOwnRoute: undefined,
    timeoutMs,
    signal: new AbortController().signal,
  })

test("a redirect is not followed", async () => {
  await using target = await startReceiver()
  await using receiver = await startReceiver((reply) => reply.writeHead(307, { location: target.url }).end())

  assert.equal((await call(receiver.url)).status, 307)
  assert.equal(target.calls.length, 0)
})

test("a reply that switches protocols fails the call", async () => {
  await using receiver = await startReceiver((reply) => {
    reply.socket?.end("HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: other\r\n\r\n")
  })

  assert.deepEqual(await call(receiver.url), { error: "the receiver closed the connection without an answer" })
})

test("an endless reply is read up to a limit, and a stalled one until the call times out", async () => {
  await using endless = await startReceiver((reply) => {
    // The sender disconnects in the middle of the reply, as expected.
    reply.on("error", () => undefined)
    const more = () => reply.write("x".repeat(10_000), (error) => !error && setImmediate(more))
    more()
  })
  await using stuck = await startReceiver((reply) => void reply.writeHead(200).write("ok"))
  await using silent = await startReceiver(() => undefined)

  const bounded = await call(endless.url)
  assert.equal(bounded.status, 200)
  assert.equal(bounded.reply?.length, 4096)
  assert.deepEqual(await call(stuck.url, { timeoutMs: lateOnBusyMachineMs }), { status: 200, reply: "ok" })
  assert.deepEqual(await call(silent.url, { timeoutMs: 200 }), { error: "no answer within 0.2 s" })
})

test("a refused connection, a broken connection and a binary reply are results, not exceptions", async () => {
  await using breaks = await startReceiver((reply) => void reply.destroy())
  await using binary = await startReceiver((reply) => reply.end(Buffer.from([0, 255, 65])))

  // No server uses port 1. A port that was just released could be used by another process.
  assert.match((await call("http://127.0.0.1:1/")).error ?? "", /ECONNREFUSED/)
  assert.match((await call(breaks.url)).error ?? "", /hang up|ECONNRESET/)
  assert.deepEqual(await call(binary.url), { status: 200, reply: "\\u0000\ufffdA" })
})

test("a forbidden address is not connected to, neither by IP address nor by name (W4)", async () => {
  await using receiver = await startReceiver()
  const rules = { ...testWebhooks, allowsLoopback: false }
  const results: CallResult[] = []

  for (const host of ["127.0.0.1", "2130706433", "[::ffff:127.0.0.1]", "localhost"]) {
    results.push(await call(`http://${host}:${receiver.port}/`, { rules }))
  }

  for (const { error } of results) assert.match(error ?? "", /is a loopback address/)
  assert.equal(receiver.calls.length, 0)
})
