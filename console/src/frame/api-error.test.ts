import assert from "node:assert/strict"
import { test } from "node:test"
import { ApiError, apiErrorOf, jsonOf } from "./api-error.js"

test("the sentence of an error is the server's detail", () => {
  const error = apiErrorOf(409, { detail: "revision r1 is not deployed: wait until it is", code: "conflict" })

  assert.deepEqual(
    [error.status, error.code, error.message],
    [409, "conflict", "revision r1 is not deployed: wait until it is"],
  )
})

test("all problems of invalid input are shown with their places", () => {
  const detail = [
    { loc: ["body", "name"], msg: "must have at most 30 characters" },
    { loc: ["body", "secrets", 0], msg: "must have a value" },
  ]

  assert.equal(
    apiErrorOf(422, { detail }).message,
    "name: must have at most 30 characters; secrets.0: must have a value",
  )
})

test("a reply that is no JSON becomes an error with its text", async () => {
  await assert.rejects(jsonOf(new Response("bad gateway", { status: 502 })), (error) => {
    assert.ok(error instanceof ApiError)
    return error.message === "bad gateway" && error.status === 502
  })
})

test("a reply without a body is no error", async () => {
  assert.equal(await jsonOf(new Response(null, { status: 204 })), undefined)
})

test("the request of an error can be found in the log of the server", () => {
  const body = { detail: "internal error", code: "internal", request_id: "01a2-b3c4" }

  assert.equal(apiErrorOf(500, body).requestId, "01a2-b3c4")
})
