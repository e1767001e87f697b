import assert from "node:assert/strict"
import { test } from "node:test"
import { Hono } from "hono"
import { identifyReplies, replyHeaders } from "./reply-headers.js"

test("every reply has the request's id and the given headers: a route's own reply, an error, and no route", async () => {
  const app = new Hono()
    .use(identifyReplies({ "x-revision-id": "r1" }))
    .use(async (c, next) => {
      Object.assign(replyHeaders(c), { vary: "Origin" })
      await next()
    })
    .get("/own", () => new Response("{}", { status: 201, headers: { vary: "Accept", "x-own": "yes" } }))
    .get("/elsewhere", () => Response.redirect("http://localhost/own", 302))
    .get("/varies", () => new Response("{}", { headers: { vary: "origin" } }))
    .get("/broken", () => {
      throw new Error("no")
    })
  app.onError((_, c) => c.json({ request_id: c.get("requestId") }, 500))
  const statuses: Record<string, number> = {
    "/own": 201,
    "/elsewhere": 302,
    "/varies": 200,
    "/broken": 500,
    "/nowhere": 404,
  }
  for (const [path, status] of Object.entries(statuses)) {
    const reply = await app.request(path, { headers: { "x-request-id": "q1" } })
    const { headers } = reply
    assert.deepEqual(
      [reply.status, headers.get("x-request-id"), headers.get("x-revision-id")],
      [status, "q1", "r1"],
      `reply of ${path}`,
    )
    assert.equal(headers.get("vary"), path === "/own" ? "Accept, Origin" : path === "/varies" ? "origin" : "Origin")
  }
})

test("the id of a caller is used only when it is short and plain", async () => {
  const app = new Hono().use(identifyReplies()).get("/", (c) => c.text(c.get("requestId")))
  for (const id of ["a b", "a\u00e9", "x".repeat(129), ""]) {
    const reply = await app.request("/", { headers: { "x-request-id": id } })
    assert.match(await reply.text(), /^[\da-f-]{36}$/)
  }
})

test("a route's reply is passed on as it is: a copy would cost a seventh of a server's time", async () => {
  const own = new Response("{}")
  let passedOn: Response | undefined
  const app = new Hono()
    .use(async (c, next) => {
      await next()
      passedOn = c.res
    })
    .use(identifyReplies({ "x-revision-id": "r1" }))
    .get("/", () => own)
  await app.request("/")
  assert.equal(passedOn, own)
})
