/** Signing in to the console of a real platform, and from there to a real agent through the edge. */
import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { test } from "node:test"
import { fileURLToPath } from "node:url"
import { Client } from "@langchain/langgraph-sdk"
import { until } from "@superstep/toolkit/testing/until"
import { unlessWide } from "@superstep/toolkit/testing/wide-tests"
import { deploy } from "./testing/deployments.js"
import type { Platform } from "./testing/installation.js"
import { startPlatform } from "./testing/platform.js"
import { createRepository } from "./testing/repository.js"

const talk = readFileSync(fileURLToPath(new URL("../graphs/src/talk.ts", import.meta.url)), "utf8")
// Its own rules admit no other page than its own.
const project = {
  node_version: "20",
  graphs: { talk: "./src/talk.ts:graph" },
  http: { cors: { allow_origins: ["https://app.example"] } },
  env: {},
}

interface Token {
  readonly token: string
  readonly url: string
  readonly scopes: readonly string[]
}

/** A browser as the control plane sees it: a cookie, and the origin of its page. */
async function signIn({ credentials: { url } }: Platform, proof: object) {
  const headers = { "content-type": "application/json", origin: url }
  const reply = await fetch(`${url}/v2/console/sessions`, { method: "POST", headers, body: JSON.stringify(proof) })
  assert.equal(reply.status, 201, await reply.text())
  const cookie = reply.headers.get("set-cookie")?.split(";")[0] ?? ""
  return (method: string, path: string, more: Record<string, string> = {}) =>
    fetch(`${url}${path}`, { method, headers: { cookie, origin: url, ...more } })
}

/** The code of the address that `superstep console` prints. */
async function codeOf({ api, credentials: { org_api_key: key } }: Platform): Promise<string> {
  const { body } = await api<{ code: string }>("POST", "/v2/console/codes", {}, { "x-api-key": key })
  return body.code
}

test("from a code to an answer of the agent, with no key in the page", {
  skip: unlessWide("deploys two agents"),
}, async () => {
  await using platform = await startPlatform()
  const { tenant_id: tenant, url } = platform.credentials
  const repository = await createRepository()
  await repository.push({ "langgraph.json": JSON.stringify(project), "src/talk.ts": talk })
  const deployment = await deploy(platform, "talk", repository.url)
  const other = await deploy(platform, "other", repository.url)
  const tokenFor = async (page: Awaited<ReturnType<typeof signIn>>, id: string) => {
    const reply = await page("POST", `/v2/deployments/${id}/agent-token`, { "x-tenant-id": tenant })
    return (await reply.json()) as Token
  }
  const atAgent = (address: string, token: string, method = "GET", path = "/threads/x/state") =>
    fetch(`${address}${path}`, {
      method,
      headers: { "x-api-key": token, origin: url },
      ...(method === "POST" && { body: "{}" }),
    })

  // The page of the console, and who signs in by it.
  const html = await fetch(`${url}/deployments/${deployment.id}`, { headers: { accept: "text/html" } })
  assert.equal(html.status, 200)
  assert.match(
    html.headers.get("content-security-policy") ?? "",
    new RegExp(`connect-src 'self' ${platform.agentsUrl} `),
  )
  const operator = await signIn(platform, { code: await codeOf(platform) })

  // The token works with the official client, and for this agent alone.
  const own = await tokenFor(operator, deployment.id)
  const client = new Client({ apiUrl: own.url, apiKey: own.token })
  const { thread_id: thread } = await client.threads.create()
  const answer = (await client.runs.wait(thread, "talk", { input: { messages: "hello" } })) as { messages: unknown[] }
  assert.equal(answer.messages.length, 2)
  assert.deepEqual(own.scopes, ["read", "run"])
  assert.equal((await atAgent(other.source_config.custom_url, own.token)).status, 401)

  // The console's page may call it, although the project names another page.
  const preflight = await fetch(`${own.url}/threads`, {
    method: "OPTIONS",
    headers: { origin: url, "access-control-request-method": "POST", "access-control-request-headers": "x-api-key" },
  })
  const read = await atAgent(own.url, own.token, "GET", `/threads/${thread}`)
  assert.deepEqual([preflight.status, preflight.headers.get("access-control-allow-origin")], [204, "*"])
  assert.deepEqual([read.status, read.headers.get("access-control-allow-origin")], [200, url])

  // A key that only reads presses nothing, neither here nor there.
  const { body: key } = await platform.api<{ id: string; key: string }>("POST", "/v2/api-keys", {
    name: "reader",
    scopes: ["read"],
  })
  const reader = await signIn(platform, { api_key: key.key })
  const reading = await tokenFor(reader, deployment.id)
  const refused = [
    await reader("POST", `/v2/deployments/${deployment.id}/pause`),
    await atAgent(reading.url, reading.token, "POST", "/threads"),
  ]
  assert.deepEqual(await Promise.all(refused.map(async (it) => ((await it.json()) as { code: string }).code)), [
    "scope_missing",
    "scope_missing",
  ])
  assert.equal((await atAgent(reading.url, reading.token, "GET", `/threads/${thread}`)).status, 200)

  // What the key's end means: neither the session nor its token is worth anything.
  await platform.api("DELETE", `/v2/api-keys/${key.id}`)
  assert.equal((await reader("GET", "/v2/deployments")).status, 401)
  await until(async () => (await atAgent(reading.url, reading.token, "GET", `/threads/${thread}`)).status === 401, {
    what: "the edge refuses the token of a revoked key",
  })
})
