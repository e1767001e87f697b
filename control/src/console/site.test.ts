import assert from "node:assert/strict"
import { mkdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { test } from "node:test"
import { brotliDecompressSync, gunzipSync } from "node:zlib"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { headersOf, startApi } from "../testing/api.js"

const script = `console.log("${"x".repeat(2000)}")`

async function siteFolder(): Promise<string> {
  const folder = temporaryFolder()
  await mkdir(join(folder, "assets"))
  await writeFile(join(folder, "assets/main-A1B2.js"), script)
  await writeFile(join(folder, "assets/small-A1B2.css"), "a{}")
  await writeFile(join(folder, "secret.js"), "secret")
  await writeFile(join(folder, "index.html"), '<!doctype html><head><base href="/" /><title>Console</title></head>')
  return folder
}

const start = async () => startApi({ consoleFolder: await siteFolder() })
const browser = { accept: "text/html,application/xhtml+xml,*/*;q=0.8", "x-api-key": "" }

test("a browser gets the page at every address that is not the API's, also without a session, and from the status page of the CLIs; a program that asks for JSON gets 404, and other methods never get it", async () => {
  await using api = await start()
  const id = "00000000-0000-4000-8000-000000000000"
  const pages = ["/", "/sign-in", `/deployments/${id}/logs`, "/v3", "/older", "/healthy"]
  const ofApi = [
    "/v1",
    "/v2/nothing",
    "/v2/deployments",
    "/api-host/v2/nothing",
    "/api-host",
    "/_uploads/a",
    "/o/x",
    "/assets/no.js",
  ]

  const answered = await Promise.all(pages.map((path) => api.call("GET", path, { headers: browser })))
  const refused = await Promise.all(ofApi.map((path) => api.call("GET", path, { headers: browser })))
  const health = await api.call("GET", "/health", { headers: browser })
  const document = await api.call("GET", "/openapi.json", { headers: browser })
  const reference = await api.call("GET", "/docs/api", { headers: browser })

  assert.deepEqual(
    answered.map(({ status, text }) => [status, text.includes("<title>Console")]),
    pages.map(() => [200, true]),
  )
  assert.ok(
    refused.every(({ status, body }) => [401, 404].includes(status) && body.code),
    JSON.stringify(refused),
  )
  assert.deepEqual([health.body.status, document.body.openapi], ["ok", "3.1.0"])
  assert.equal(reference.text.includes("<title>Console"), false)

  const program = await api.call("GET", "/deployments")
  const posted = await api.call("POST", "/deployments", { headers: browser })

  assert.deepEqual([program.status, program.body.code, posted.status], [404, "not_found", 404])

  const fromClis = await api.call("GET", `/api-host/o/${api.workspaceId}/host/deployments/${id}`, {
    headers: browser,
  })

  assert.deepEqual(
    [fromClis.status, fromClis.headers.get("location")],
    [302, `/deployments/${id}?workspace=${api.workspaceId}`],
  )
})

test("the page is never cached, may run only its own scripts, reach only the agents, and cannot be framed", async () => {
  await using api = await start()

  const { headers, text } = await api.call("GET", "/", { headers: browser })
  const again = await api.call("GET", "/", { headers: browser })

  const [, nonce] = /<base href="\/" \/>\s*<meta property="csp-nonce" nonce="([\w+/=]{24})" \/>/.exec(text) ?? []
  assert.equal(
    headers.get("content-security-policy"),
    `default-src 'none'; script-src 'self'; style-src 'self' 'nonce-${nonce}'; img-src 'self' data:; font-src 'self'; ` +
      "connect-src 'self' http://agents.test:8901 ws://agents.test:8901; form-action 'self'; base-uri 'self'; frame-ancestors 'none'",
  )
  assert.deepEqual(
    headersOf({ headers }, "cache-control", "x-content-type-options", "referrer-policy", "cross-origin-opener-policy"),
    ["no-cache", "nosniff", "no-referrer", "same-origin"],
  )
  assert.equal(again.text.includes(String(nonce)), false)
})

test("files are served compressed as the browser accepts it, and may be cached for ever; none outside the folder of assets is served", async () => {
  await using api = await start()
  const ask = async (encodings: string, name = "main-A1B2.js") => {
    const headers = { "accept-encoding": encodings }
    const reply = await api.fetch(new Request(`http://localhost/assets/${name}`, { headers }))
    return { reply, bytes: Buffer.from(await reply.arrayBuffer()) }
  }

  const [brotli, gzip, plain, refused] = [
    await ask("gzip, deflate, br"),
    await ask("gzip"),
    await ask("identity"),
    await ask("br;q=0, gzip;q=0"),
  ]
  const small = await ask("br", "small-A1B2.css")

  assert.equal(brotliDecompressSync(brotli.bytes).toString(), script)
  assert.equal(gunzipSync(gzip.bytes).toString(), script)
  assert.deepEqual(
    [plain, refused].map(({ bytes }) => bytes.toString()),
    [script, script],
  )
  assert.deepEqual(
    [brotli, gzip, plain, refused, small].map(({ reply }) => reply.headers.get("content-encoding")),
    ["br", "gzip", null, null, null],
  )
  assert.deepEqual(headersOf(brotli.reply, "cache-control", "content-type", "x-content-type-options", "vary"), [
    "public, max-age=31536000, immutable",
    "text/javascript; charset=utf-8",
    "nosniff",
    "accept-encoding",
  ])

  const paths = [
    "/assets/..%2fsecret.js",
    "/assets/%2e%2e%2fsecret.js",
    "/assets/.js",
    "/assets/main-A1B2",
    "/assets/a%00.js",
    "/secret.js",
  ]

  const replies = await Promise.all(paths.map((path) => api.call("GET", path)))

  assert.deepEqual(
    fieldsOf(replies, "status"),
    paths.map(() => 404),
  )
})

test("the page asks which home it has; without a built site the answer says what to do", async () => {
  await using api = await startApi()

  const home = await api.call("GET", "/console.json")
  const page = await api.call("GET", "/", { headers: browser })

  assert.deepEqual(home.body, { home: "platform", version: "1.2.3" })
  assert.deepEqual([page.status, page.headers.get("retry-after")], [503, "5"])
  assert.match(page.text, /The console is not built yet[\s\S]*npm run build/)
})
