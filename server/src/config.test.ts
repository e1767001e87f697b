import assert from "node:assert/strict"
import { test } from "node:test"
import { InvalidSettings } from "@superstep/toolkit/config/settings"
import { readConfig } from "./config.js"

const env = { SUPERSTEP_CONFIG: "langgraph.json", DATABASE_URI: "postgres://localhost/a" }
const refusalWith = (words: RegExp) => (error: unknown) => error instanceof InvalidSettings && words.test(error.message)

test("a unit does not start without its token", () => {
  const unit = { ...env, SUPERSTEP_REVISION_ID: "r1" }

  for (const token of [{}, { SUPERSTEP_UNIT_TOKEN: "" }]) {
    assert.throws(() => readConfig({ ...unit, ...token }), refusalWith(/SUPERSTEP_UNIT_TOKEN/))
  }
  assert.equal(readConfig({ ...unit, SUPERSTEP_UNIT_TOKEN: "sesame" }).unitToken?.reveal(), "sesame")
  assert.equal(readConfig(env).unitToken, undefined)
})

test("an invalid database URI is reported together with the other invalid settings", () => {
  const wrong = { ...env, DATABASE_URI: "nonsense", SUPERSTEP_WORKERS: "0" }
  assert.throws(
    () => readConfig(wrong),
    refusalWith(/DATABASE_URI: expected an address such as[\s\S]*SUPERSTEP_WORKERS/),
  )
})

test("events cannot be kept for no time, since followed threads would then be renewed without a pause", () => {
  for (const [text, seconds] of [
    ["0", 1],
    ["1", 1],
    ["7", 7],
  ] as const)
    assert.equal(readConfig({ ...env, RESUMABLE_STREAM_TTL_SECONDS: text }).resumableTtlSeconds, seconds)
})
