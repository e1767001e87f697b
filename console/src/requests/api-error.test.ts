import assert from "node:assert/strict"
import { test } from "node:test"
import { ApiError, apiErrorOf, jsonOf } from "./api-error.js"

test("the sentence of an error is the server's detail, and its request can be found in the server's log", () => {
  const body = { detail: "revision r1 is not deployed", code: "conflict", request_id: "01a2-b3c4" }

  const { status, code, message, requestId } = apiErrorOf(409, body)

  assert.deepEqual([status, code, message, requestId], [409, "conflict", body.detail, "01a2-b3c4"])
})

test("all problems of invalid input are shown with their places", () => {
  const detail = [
    { loc: ["body", "name"], msg: "must have at most 30 characters" },
    { loc: ["body", "secrets", 0], msg: "must have a value" },
  ]

  const { message } = apiErrorOf(422, { detail })

  assert.equal(message, "name: must have at most 30 characters; secrets.0: must have a value")
})

test("a reply that is no JSON becomes an error with its text, and one without a body is no error", async () => {
  const isGateway = (error: unknown) =>
    error instanceof ApiError && error.message === "bad gateway" && error.status === 502

  await assert.rejects(jsonOf(new Response("bad gateway", { status: 502 })), isGateway)
  assert.equal(await jsonOf(new Response(null, { status: 204 })), undefined)
})
