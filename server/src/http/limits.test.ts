import assert from "node:assert/strict"
import type { ServerResponse } from "node:http"
import { connect } from "node:net"
import { test } from "node:test"
import { errorHandler } from "@superstep/toolkit/http/errors"
import { listen } from "@superstep/toolkit/http/listen"
import { createLog } from "@superstep/toolkit/log/log"
import { resetSocket } from "@superstep/toolkit/testing/reset-socket"
import { until } from "@superstep/toolkit/testing/until"
import { Hono } from "hono"
import { anyone, type Caller } from "../auth/caller.js"
import { identifyCaller } from "./caller-of.js"
import { type LimitOptions, limitRequests } from "./limits.js"
import { WebSockets } from "./web-sockets.js"

const none = { maxOpenRequests: 0, maxOpenRequestsPerCaller: 0, maxRequestsPerMinute: 0, isBehindEdge: true }

/** An app whose `/wait` lasts until it is released, with callers identified by user or by address. */
function appWith(options: Partial<LimitOptions>) {
  const waiting: (() => void)[] = []
  const app = new Hono()
  app.onError(errorHandler({ log: createLog({ process: "test", level: "silent" }), detail: "text" }))
  app.use(
    identifyCaller((c) => {
      const identity = c.req.header("x-user")
      if (identity === undefined) return anyone
      return { ...anyone, user: { identity, display_name: identity, is_authenticated: true, permissions: [] } }
    }),
  )
  app.use(limitRequests({ ...none, ...options }))
  app.get("/ok", (c) => c.text("ok"))
  app.get("/now", (c) => c.text("now"))
  app.get("/wait", async (c) => {
    await new Promise<void>((resolve) => waiting.push(resolve))
    return c.text("waited")
  })
  const get = (path: string, headers: Record<string, string> = {}) => app.request(path, { headers })
  const from = (address: string) => ({ "x-forwarded-for": `10.9.9.9, ${address}` })
  return { get, from, letGo: () => waiting.shift()?.() }
}

const detailOf = async (reply: Response) => ((await reply.json()) as { detail: string }).detail

test("a caller over its rate limit gets Retry-After, and other callers are not affected", async () => {
  let time = 1_000_000
  const { get, from } = appWith({ maxRequestsPerMinute: 2, now: () => time })
  const statusFor = async (headers: Record<string, string>) => (await get("/now", headers)).status

  const statuses = [await statusFor(from("1.1.1.1")), await statusFor(from("1.1.1.1"))]
  time += 20_000
  const third = await get("/now", from("1.1.1.1"))
  const others = [await statusFor(from("2.2.2.2")), await statusFor({ "x-user": "u", ...from("1.1.1.1") })]
  const aboutServer = await get("/ok", from("1.1.1.1"))
  time += 40_000
  const later = await statusFor(from("1.1.1.1"))

  assert.deepEqual(statuses, [200, 200])
  assert.deepEqual([third.status, third.headers.get("retry-after")], [429, "40"])
  assert.match(await detailOf(third), /more than 2 requests in a minute/)
  assert.deepEqual([others, aboutServer.status, later], [[200, 200], 200, 200])
})

test("open requests are limited per caller and in total", async () => {
  const { get, letGo } = appWith({ maxOpenRequests: 2, maxOpenRequestsPerCaller: 1 })

  const first = get("/wait", { "x-user": "a" })
  const ofSame = await get("/now", { "x-user": "a" })
  const second = get("/wait", { "x-user": "b" })
  const ofAnother = await get("/now", { "x-user": "c" })
  letGo()
  await first
  const after = await get("/now", { "x-user": "a" })
  letGo()
  await second

  assert.match(await detailOf(ofSame), /you have reached the limit of 1 open requests/)
  assert.match(await detailOf(ofAnother), /this server has reached its limit of 2 open requests/)
  assert.deepEqual([ofSame.status, ofAnother.status, after.status], [429, 429, 200])
})

test("a request whose client left while it was authenticated is not open for ever", async (t) => {
  for (const upgrade of ["", "Connection: Upgrade\r\nUpgrade: websocket\r\n"]) {
    await t.test(upgrade === "" ? "a request" : "a WebSocket", async () => {
      await using slow = await servingSlowly()
      const { port, authenticating } = slow
      const client = connect(port, "127.0.0.1").on("error", () => undefined)
      client.write(`GET /now HTTP/1.1\r\nHost: 127.0.0.1\r\n${upgrade}\r\n`)
      const left = await until(() => authenticating.shift(), { what: "the request is being authenticated" })

      resetSocket(client)
      await until(() => left.outgoing.closed, { what: "the server knows that the client has left" })
      left.done(anyone)
      await until(() => slow.served === 1, { what: "the route has been called" })
      const next = fetch(`http://127.0.0.1:${port}/now`)
      const present = await until(() => authenticating.shift(), { what: "the next request is being authenticated" })
      present.done(anyone)

      assert.equal((await next).status, 200)
    })
  }
})

/** A server that has one open request at most, and authenticates when the test says so. */
async function servingSlowly() {
  const authenticating: { outgoing: ServerResponse; done: (caller: Caller) => void }[] = []
  const app = new Hono()
  app.onError(errorHandler({ log: createLog({ process: "test", level: "silent" }), detail: "text" }))
  app.use(
    identifyCaller((c) => {
      const { outgoing } = c.env as { outgoing: ServerResponse }
      return new Promise((done) => authenticating.push({ outgoing, done }))
    }),
    limitRequests({ ...none, isBehindEdge: false, maxOpenRequests: 1 }),
  )
  const counts = { served: 0 }
  app.get("/now", (c) => {
    counts.served += 1
    return c.text("now")
  })
  const fetchApp = async (request: Request, env: never) => app.fetch(request, env)
  const listening = await listen(fetchApp, { host: "127.0.0.1", port: 0 })
  listening.onUpgrade?.(new WebSockets(fetchApp).listener)
  return {
    port: listening.port ?? 0,
    authenticating,
    get served() {
      return counts.served
    },
    [Symbol.asyncDispose]: () => listening.close(0),
  }
}
