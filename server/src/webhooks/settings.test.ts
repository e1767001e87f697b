import assert from "node:assert/strict"
import { test } from "node:test"
import { Secret } from "@superstep/toolkit/config/settings"
import { type WebhookSources, webhookSettings } from "./settings.js"

/** The template of a variable in a header. */
const variable = (name: string) => `$\{{ env.${name} }}`

const settingsOf = (sources: Partial<WebhookSources>) =>
  webhookSettings({
    webhooks: {},
    http: {},
    env: {},
    isDev: false,
    privateNetworks: false,
    signingSecret: undefined,
    ...sources,
  })

const headersOf = (headers: Record<string, string>, env: Record<string, string>, env_prefix?: string) => {
  const found = settingsOf({ webhooks: { headers, ...(env_prefix !== undefined && { env_prefix }) }, env }).headers
  return Object.fromEntries(Object.entries(found).map(([name, value]) => [name, value.reveal()]))
}

test("by default webhooks may call public addresses, and in development also loopback", () => {
  const { allowsLoopback, allowsPrivate, requiresHttps, allowedDomains, maxUrlChars } = settingsOf({})
  assert.deepEqual([allowsLoopback, allowsPrivate, requiresHttps, allowedDomains], [false, false, false, undefined])
  assert.equal(maxUrlChars, 65_536)
  assert.equal(settingsOf({ isDev: true }).allowsLoopback, true)
  assert.equal(settingsOf({ isDev: true, webhooks: { url: { disable_loopback: true } } }).allowsLoopback, false)
  assert.equal(settingsOf({ webhooks: { url: { disable_loopback: false } } }).allowsLoopback, true)
  assert.equal(settingsOf({ http: { disable_webhooks: true } }).isDisabled, true)
})

test("headers insert variables with the prefix, and their values are secret", () => {
  const env = { LG_WEBHOOK_TOKEN: "t0ken", LG_WEBHOOK_B: "b", OUR_KEY: "k" }

  const [token, b] = [variable("LG_WEBHOOK_TOKEN"), variable("LG_WEBHOOK_B").replaceAll(" ", "")]
  const found = headersOf({ Authorization: `Bearer ${token}`, "x-two": `${b}-${token}` }, env)
  assert.deepEqual(found, { authorization: "Bearer t0ken", "x-two": "b-t0ken" })
  assert.deepEqual(headersOf({ "x-key": variable("OUR_KEY") }, env, "OUR_"), { "x-key": "k" })
  const { headers } = settingsOf({ webhooks: { headers: { a: variable("LG_WEBHOOK_B") } }, env })
  assert.equal(JSON.stringify(headers), '{"a":"[secret]"}')
  assert.ok(headers.a instanceof Secret)
})

test("a missing or forbidden variable prevents the start, and all problems are reported at once", () => {
  const headers = {
    one: variable("LG_WEBHOOK_NONE"),
    two: variable("DATABASE_URI"),
    three: variable("X").replace("env", "secrets"),
    "four five": "x",
    six: "a\nb",
  }
  const env = { DATABASE_URI: "postgres://secret" }

  const refusal = (error: Error) => {
    assert.match(error.message, /headers\.one: the variable LG_WEBHOOK_NONE is not set/)
    assert.match(error.message, /headers\.two: DATABASE_URI is not allowed/)
    assert.match(error.message, /headers\.three: expected/)
    for (const name of ["four five", "six"])
      assert.ok(error.message.includes(`headers.${name}: the name or the value is not valid`), name)
    return !error.message.includes("postgres://secret")
  }
  assert.throws(() => headersOf(headers, env), refusal)
})
