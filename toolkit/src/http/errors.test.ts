import assert from "node:assert/strict"
import { test } from "node:test"
import { Hono } from "hono"
import { bodyLimit } from "hono/body-limit"
import { HTTPException } from "hono/http-exception"
import {
  Conflict,
  Forbidden,
  InvalidInput,
  NotFound,
  PreconditionFailed,
  TooLarge,
  TooManyRequests,
  Unauthenticated,
  Unavailable,
  UnsupportedBody,
} from "../errors/errors.js"
import { createLog } from "../log/log.js"
import { errorBody } from "./error-body.js"
import { errorHandler } from "./errors.js"
import { identifyReplies } from "./reply-headers.js"

/** The reply to a request whose handler throws, and what the log says of it. */
async function replyTo(error: Error) {
  const lines: Record<string, unknown>[] = []
  const log = createLog({ process: "test", level: "debug" }, { write: (line) => lines.push(JSON.parse(line)) })
  const app = new Hono().use(identifyReplies())
  app.onError(errorHandler({ log, detail: "text" }))
  app.get("/notes", () => {
    throw error
  })
  const response = await app.request("/notes", { headers: { "x-request-id": "q1" } })
  return { response, body: (await response.json()) as Record<string, unknown>, line: lines[0] }
}

test("each known error has its status and its level in the log", async () => {
  const expected = [
    [new InvalidInput("no"), 422, "debug"],
    [new Unauthenticated("no"), 401, "info"],
    [new Forbidden("no"), 403, "info"],
    [new NotFound("no"), 404, "debug"],
    [new Conflict("no"), 409, "info"],
    [new PreconditionFailed("no"), 412, "info"],
    [new TooLarge("no"), 413, "info"],
    [new UnsupportedBody("no"), 415, "debug"],
    [new TooManyRequests("no"), 429, "info"],
    [new Unavailable("no"), 503, "warn"],
  ] as const

  for (const [error, status, level] of expected) {
    const { response, body, line } = await replyTo(error)

    assert.equal(response.status, status)
    assert.deepEqual(body, { ...errorBody(error.message, error.code), request_id: "q1" })
    assert.equal(line?.level, level)
    assert.equal(line?.request_id, "q1")
  }
})

test("a conflict names the conflicting resource, and unavailability has a Retry-After", async () => {
  const { body } = await replyTo(new Conflict("busy", "conflict", { conflicting_id: "r1" }))
  const { response } = await replyTo(new Unavailable("later", 1200))
  const limited = await replyTo(new TooManyRequests("slowly", 59_001))

  assert.equal(body.conflicting_id, "r1")
  assert.equal(response.headers.get("retry-after"), "2")
  assert.equal(limited.response.headers.get("retry-after"), "60")
})

test("a bug shows only the request's id, and its stack goes to the log", async () => {
  const { response, body, line } = await replyTo(new Error("password hunter2 is wrong"))

  assert.equal(response.status, 500)
  assert.deepEqual(body, errorBody("internal error", "internal", "q1"))
  assert.match(JSON.stringify(line), /hunter2.*errors\.test/)
})

test("Hono's own errors have the same format", async () => {
  const { response, body } = await replyTo(new HTTPException(413, { message: "too much" }))
  const log = createLog({ process: "test", level: "silent" })
  const app = new Hono().use(bodyLimit({ maxSize: 1 })).post("/notes", async (c) => c.text(await c.req.text()))
  app.onError(errorHandler({ log, detail: "text" }))

  const limited = await app.request("/notes", { method: "POST", body: "long", headers: { "content-length": "4" } })

  assert.equal(response.status, 413)
  assert.deepEqual(body, { detail: "too much" })
  assert.equal(limited.status, 413)
})
