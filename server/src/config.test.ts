import assert from "node:assert/strict"
import { test } from "node:test"
import { InvalidSettings } from "@superstep/toolkit/config/settings"
import { readConfig } from "./config.js"

const env = { SUPERSTEP_CONFIG: "langgraph.json", DATABASE_URI: "postgres://localhost/a" }

test("a unit does not start without its credential", () => {
  const unit = { ...env, SUPERSTEP_REVISION_ID: "r1" }

  for (const token of [{}, { SUPERSTEP_UNIT_TOKEN: "" }]) {
    assert.throws(
      () => readConfig({ ...unit, ...token }),
      (error) => error instanceof InvalidSettings && /SUPERSTEP_UNIT_TOKEN/.test(error.message),
    )
  }
  assert.equal(readConfig({ ...unit, SUPERSTEP_UNIT_TOKEN: "sesame" }).unitToken?.reveal(), "sesame")
  assert.equal(readConfig(env).unitToken, undefined)
})
