import assert from "node:assert/strict"
import { once } from "node:events"
import { mkdir, writeFile } from "node:fs/promises"
import { type IncomingMessage, request } from "node:http"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import { test } from "node:test"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { freshHttp, type TestHttp } from "../testing/test-http.js"

async function consoleFolder(): Promise<string> {
  const folder = temporaryFolder()
  await mkdir(join(folder, "assets"))
  await writeFile(join(folder, "assets/main-A1.js"), "start()")
  await writeFile(join(folder, "index.html"), '<!doctype html><head><base href="/" /><title>Console</title></head>')
  return folder
}

/** Node's client sends any `Host`, which `fetch` does not. */
async function ask({ url }: TestHttp, path: string, headers: Record<string, string> = {}) {
  const sent = request(`${url}${path}`, { headers }).end()
  const [reply] = (await once(sent, "response")) as [IncomingMessage]
  return { status: reply.statusCode, headers: reply.headers, text: await text(reply) }
}

test("a development server serves the console at /studio, with each address of its pages", async () => {
  await using http = await freshHttp({ isDev: true, consoleFolder: await consoleFolder() })

  const pages = await Promise.all(["/studio", "/studio/", "/studio/threads/t1/runs/r1"].map((path) => ask(http, path)))
  const home = await ask(http, "/studio/console.json")
  const asset = await ask(http, "/studio/assets/main-A1.js")
  const none = await ask(http, "/studio/assets/other.js")

  assert.ok(pages.every((it) => it.status === 200 && it.text.includes('<base href="/studio/" />')))
  assert.match(String(pages[0]?.headers["content-security-policy"]), /connect-src 'self'; .*frame-ancestors 'none'/)
  assert.deepEqual(JSON.parse(home.text), { home: "agent", version: "0.0.0" })
  assert.deepEqual([asset.text, none.status], ["start()", 404])
})

test("below a mount prefix the console's addresses have that prefix", async () => {
  const options = { isDev: true, consoleFolder: await consoleFolder(), http: { mount_prefix: "/api" } }
  await using http = await freshHttp(options)

  const { text: page } = await ask(http, "/api/studio")

  assert.match(page, /<base href="\/api\/studio\/" \/>/)
})

test("a name that was made to resolve here, or a page of another site, gets nothing of the console (DNS rebinding), nor does anyone outside development", async () => {
  await using http = await freshHttp({ isDev: true, consoleFolder: await consoleFolder() })
  await using deployed = await freshHttp({ consoleFolder: await consoleFolder() })

  const foreign = await ask(http, "/studio", { host: "evil.example" })
  const crossSite = await ask(http, "/studio/console.json", { origin: "https://evil.example" })

  assert.deepEqual([foreign.status, crossSite.status, (await ask(deployed, "/studio")).status], [403, 403, 404])
})
