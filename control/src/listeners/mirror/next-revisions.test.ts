import assert from "node:assert/strict"
import { test } from "node:test"
import { Secret } from "@superstep/toolkit/config/settings"
import { centralOf, listenerSettingsProblem } from "./settings.js"

test("the settings of a listener come together, and secrets cross no network in plain text", () => {
  const listenerToken = new Secret("ssl_x")
  const problemWith = (listenerUrl: string) => listenerSettingsProblem({ listenerUrl, listenerToken })

  assert.equal(listenerSettingsProblem({}), undefined)
  assert.match(listenerSettingsProblem({ listenerUrl: "https://a.test" }) ?? "", /set SUPERSTEP_LISTENER_TOKEN too/)
  assert.match(listenerSettingsProblem({ listenerToken }) ?? "", /set SUPERSTEP_LISTENER_URL too/)
  assert.match(problemWith("http://a.test") ?? "", /use https/)
  assert.match(problemWith("http://127.evil.test") ?? "", /use https/)
  for (const url of ["https://a.test", "http://127.0.0.1:8900", "http://localhost:1", "http://[::1]:1"])
    assert.equal(problemWith(url), undefined, url)
  assert.equal(centralOf({ listenerUrl: "https://a.test/base/", listenerToken })?.url, "https://a.test/base")
})
