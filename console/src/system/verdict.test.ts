import assert from "node:assert/strict"
import { test } from "node:test"
import { ApiError } from "../requests/api-error.js"
import { verdictOf } from "./verdict.js"

const fine = { error: null, isRead: true, problems: [] }
const textOf = (findings: Partial<typeof fine> | { error: unknown }) => verdictOf({ ...fine, ...findings }).text

test("all is well only after an answer says so", () => {
  assert.equal(textOf({}), "All is well")
  assert.equal(textOf({ isRead: false }), "Checking")
  assert.equal(verdictOf({ ...fine, problems: ["the disk is full"] }).text, "Needs a look")
})

test("an answer of before counts for nothing when the control plane does not answer now", () => {
  assert.equal(textOf({ error: new TypeError("Failed to fetch") }), "No answer")
  assert.equal(textOf({ error: new ApiError(503, "unavailable", "no database") }), "Not healthy")
})
