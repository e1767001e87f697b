import assert from "node:assert/strict"
import { test } from "node:test"
import { processorMsOf } from "@superstep/toolkit/testing/processor-time"
import type { HeaderRule } from "../project/langgraph-json.js"
import { headerChoice } from "./chosen-headers.js"

const sent = new Headers({
  "x-user-id": "u",
  "x-user-secret": "s",
  "user-agent": "a",
  authorization: "Bearer t",
  "x-api-key": "k",
})

const chosen = (rule: HeaderRule) => Object.keys(headerChoice(rule)?.(sent) ?? {}).sort()

test("headers are selected by name or glob in any case, and excludes win", () => {
  assert.deepEqual(chosen({ includes: ["X-User-*", "user-agent"], excludes: ["*-SECRET"] }), [
    "user-agent",
    "x-user-id",
  ])
  assert.deepEqual(chosen({ include: ["x-user-??"], exclude: [] }), ["x-user-id"])
  assert.deepEqual(chosen({ includes: ["x.user.id"] }), [])
})

test("a glob may have several stars, and is read in linear time", async () => {
  assert.deepEqual(chosen({ includes: ["*-*-s*t"] }), ["x-user-secret"])
  assert.deepEqual(chosen({ includes: ["**user-??", "*-k"] }), ["x-user-id"])
  assert.deepEqual(chosen({ includes: ["x-user-id?", "", "x-user", "user-id"] }), [])

  // Before, the time grew with the sixth power of the length.
  const long = new Headers({ [`x-${"a".repeat(15_000)}`]: "v" })
  const choose = () => assert.deepEqual(headerChoice({ includes: ["x-*a*a*a*a*a*b"] })?.(long), {})
  assert.ok((await processorMsOf(choose)) < 10_000)
})

test("without includes no header is selected", () => {
  assert.equal(headerChoice(undefined), undefined)
  assert.equal(headerChoice({ excludes: ["x-a"] }), undefined)
})

test("a credential is selected only by its full name", () => {
  assert.deepEqual(chosen({ includes: ["*"] }), ["user-agent", "x-user-id", "x-user-secret"])
  assert.deepEqual(chosen({ includes: ["authorization"] }), ["authorization"])
})
