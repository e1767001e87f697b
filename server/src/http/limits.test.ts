import assert from "node:assert/strict"
import { test } from "node:test"
import { errorHandler } from "@superstep/toolkit/http/errors"
import { createLog } from "@superstep/toolkit/log/log"
import { Hono } from "hono"
import { anyone } from "../auth/caller.js"
import { identifyCaller } from "./caller-of.js"
import { type LimitOptions, limitRequests } from "./limits.js"

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
