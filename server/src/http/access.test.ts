import assert from "node:assert/strict"
import { test } from "node:test"
import { errorHandler } from "@superstep/toolkit/http/errors"
import { createLog } from "@superstep/toolkit/log/log"
import { Hono } from "hono"
import { mayCall, type OriginRule, requireKnownOrigin } from "./access.js"
import { type CrossOrigin, crossOrigin } from "./cross-origin.js"
import { httpSettings } from "./settings.js"

const environment = { isDev: false, mountPrefix: undefined, corsAllowOrigins: undefined }
const settingsOf = (rule: OriginRule): CrossOrigin => ({
  ...httpSettings({}, environment).crossOrigin,
  origins: rule,
})

function appWith(rule: OriginRule) {
  const app = new Hono()
  app.onError(errorHandler({ log: createLog({ process: "test", level: "silent" }), detail: "text" }))
  app.use(crossOrigin(settingsOf(rule)), requireKnownOrigin(rule))
  app.post("/runs", (c) => c.json({}))
  const post = async (origin: string) => (await app.request("/runs", { method: "POST", headers: { origin } })).status
  return { app, post }
}

test("in development the project's allowed origins are accepted in addition to the defaults", async () => {
  const { app, post } = appWith({ isDev: true, allowed: ["https://app.example"] })

  const statuses = [
    await post("https://app.example"),
    await post("http://127.0.0.1:5173"),
    await post("https://evil.example"),
  ]
  const preflight = await app.request("/runs", { method: "OPTIONS", headers: { origin: "https://app.example" } })

  assert.deepEqual(statuses, [200, 200, 403])
  assert.equal(preflight.headers.get("access-control-allow-origin"), "https://app.example")
})

test("outside development every page with a key is accepted, unless the project lists origins", () => {
  const origin = "https://app.example"

  assert.equal(mayCall({ isDev: false, allowed: undefined }, origin), true)
  assert.equal(mayCall({ isDev: false, allowed: ["*"] }, origin), true)
  assert.equal(mayCall({ isDev: false, allowed: [origin] }, origin), true)
  assert.equal(mayCall({ isDev: false, allowed: [origin] }, "https://other.example"), false)
})
