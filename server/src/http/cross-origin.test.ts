import assert from "node:assert/strict"
import { test } from "node:test"
import { PreflightRule as fitsEdge } from "@superstep/protocol/edge/validators"
import { type PreflightRule, preflightHeaders } from "@superstep/toolkit/http/cross-origin"
import { identifyReplies } from "@superstep/toolkit/http/reply-headers"
import { processorMsOf } from "@superstep/toolkit/testing/processor-time"
import { Hono } from "hono"
import type { LanggraphJson } from "../project/langgraph-json.js"
import { mayCall } from "./access.js"
import { crossOrigin, preflightRuleOf } from "./cross-origin.js"
import { type HttpEnvironment, httpSettings } from "./settings.js"

type Cors = NonNullable<NonNullable<LanggraphJson["http"]>["cors"]>
const origin = "https://app.example"
const usual: HttpEnvironment = { isDev: false, mountPrefix: undefined, corsAllowOrigins: undefined }

/** The CORS headers of a reply and of a preflight. */
async function answers(cors: Cors | undefined, asked: Record<string, string> = {}, environment = {}) {
  const settings = httpSettings({ ...(cors && { cors }) }, { ...usual, ...environment })
  const app = new Hono().use(identifyReplies(), crossOrigin(settings.crossOrigin)).get("/x", (c) => c.text(""))
  const headers = { origin, ...asked }
  const reply = await app.request("/x", { headers })
  const preflight = await app.request("/x", { method: "OPTIONS", headers })
  const of =
    ({ headers: all }: Response) =>
    (name: string) =>
      all.get(`access-control-${name}`)
  return { reply: of(reply), preflight: of(preflight), status: preflight.status }
}

test("by default every page may send requests and read the headers that the SDKs need", async () => {
  const asked = { "access-control-request-headers": "content-type,x-auth-scheme" }

  const { reply, preflight, status } = await answers(undefined, asked)

  assert.equal(reply("allow-origin"), "*")
  assert.equal(reply("expose-headers"), "content-location,location,x-pagination-total,x-pagination-next,x-request-id")
  assert.equal(status, 204)
  assert.equal(preflight("allow-headers"), "content-type,x-auth-scheme")
  assert.match(preflight("allow-methods") ?? "", /GET,HEAD,PUT,POST,DELETE,PATCH/)
})

test("a preflight of a public page is allowed to access the private network", async () => {
  const asked = { "access-control-request-private-network": "true" }

  const allowed = await answers(undefined, asked)
  const refused = await answers({ allow_origins: ["https://other.example"] }, asked)

  assert.equal(allowed.preflight("allow-private-network"), "true")
  assert.equal(allowed.reply("allow-private-network"), null)
  assert.equal(refused.preflight("allow-private-network"), null)
})

test("every key of http.cors is applied", async () => {
  const { reply, preflight } = await answers({
    allow_origins: [origin],
    allow_methods: ["GET"],
    allow_headers: ["x-a"],
    allow_credentials: true,
    expose_headers: ["X-Mine", "Location"],
    max_age: 60,
  })

  assert.deepEqual([reply("allow-origin"), reply("allow-credentials")], [origin, "true"])
  assert.equal(reply("expose-headers")?.endsWith("x-request-id,x-mine"), true)
  assert.deepEqual([preflight("allow-methods"), preflight("allow-headers")], ["GET", "x-a"])
  assert.equal(preflight("max-age"), "60")
})

test("the edge can answer preflights like this server, unless a pattern decides", async () => {
  const origins = [origin, "https://other.example"]
  const projects: readonly (Cors | undefined)[] = [
    undefined,
    { allow_origins: ["*"], allow_credentials: true },
    { allow_origins: [origin], allow_credentials: true, max_age: 0, expose_headers: ["X-Mine"] },
    { allow_origins: origins, allow_methods: ["*"], allow_headers: ["*"] },
    { allow_methods: ["GET"], allow_headers: ["x-a"] },
  ]
  for (const cors of projects) {
    const settings = httpSettings({ ...(cors && { cors }) }, usual).crossOrigin
    const app = new Hono().use(crossOrigin(settings))
    for (const from of [...origins, "https://evil.example"]) {
      const asked = {
        origin: from,
        "access-control-request-method": "POST",
        "access-control-request-headers": "content-type, x-a",
        "access-control-request-private-network": "true",
      }
      const told = JSON.parse(JSON.stringify(preflightRuleOf(settings))) as PreflightRule
      assert.ok(fitsEdge(told))

      const own = await app.request("/runs", { method: "OPTIONS", headers: asked })

      const fromEdge = await preflightHeaders(told, asked)
      assert.deepEqual(fromEdge, Object.fromEntries(own.headers), `${from}: ${JSON.stringify(cors)}`)
    }
  }
  const pattern = httpSettings({ cors: { allow_origin_regex: ".*" } }, usual).crossOrigin
  assert.equal(preflightRuleOf(pattern), null)
})

test("a pattern never matches an origin that is longer than a host name can be, and is not tried on it", async () => {
  const allow_origin_regex = "https://(.*)*(.*)*example"

  const longest = await answers({ allow_origin_regex }, { origin: `https://${"a".repeat(284)}.example` })
  const longer = await answers({ allow_origin_regex }, { origin: `https://${"a".repeat(285)}.example` })
  const usedMs = await processorMsOf(async () => {
    const slow = await answers({ allow_origin_regex }, { origin: `https://${"a".repeat(10_000)}` })
    assert.equal(slow.reply("allow-origin"), null)
  })

  assert.equal(longest.reply("allow-origin"), `https://${"a".repeat(284)}.example`)
  assert.equal(longer.reply("allow-origin"), null)
  assert.ok(usedMs < 10_000)
})

test("a pattern must match the whole origin, and is used instead of the list", async () => {
  const allow_origin_regex = "https://(app|www)\\.example"
  const both = { allow_origin_regex, allow_origins: ["https://listed.example"] }
  const matching = await answers(both)
  const longer = await answers({ allow_origin_regex }, { origin: "https://app.example.evil" })
  const listed = await answers(both, { origin: "https://listed.example" })

  assert.equal(matching.reply("allow-origin"), origin)
  assert.deepEqual([longer.reply("allow-origin"), listed.reply("allow-origin")], [null, null])
})

test("the environment's origins apply if the project sets none, and cookies are not allowed for all origins", async () => {
  const byEnvironment = { corsAllowOrigins: ["https://env.example"] }
  const asked = { origin: "https://env.example" }
  const toAll = { allow_origins: ["*"], allow_credentials: true }

  const ofEnvironment = await answers({ allow_credentials: true }, asked, byEnvironment)
  const ofProject = await answers({ allow_origins: [origin] }, asked, byEnvironment)
  const all = await answers(toAll)
  const inDevelopment = await answers(toAll, {}, { isDev: true })

  assert.equal(ofEnvironment.reply("allow-origin"), "https://env.example")
  assert.equal(ofProject.reply("allow-origin"), null)
  for (const [{ reply }, allowed] of [
    [all, "*"],
    [inDevelopment, origin],
  ] as const)
    assert.deepEqual([reply("allow-origin"), reply("allow-credentials")], [allowed, null])
})

test("outside development every page with a key is accepted, unless the project lists origins", () => {
  assert.equal(mayCall({ isDev: false, allowed: undefined }, origin), true)
  assert.equal(mayCall({ isDev: false, allowed: ["*"] }, origin), true)
  assert.equal(mayCall({ isDev: false, allowed: [origin] }, origin), true)
  assert.equal(mayCall({ isDev: false, allowed: [origin] }, "https://other.example"), false)
})
