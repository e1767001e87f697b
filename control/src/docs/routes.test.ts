import assert from "node:assert/strict"
import { mkdir, utimes, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { test } from "node:test"
import { gunzipSync } from "node:zlib"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { headersOf, startApi } from "../testing/api.js"

async function docsFolder(): Promise<string> {
  const folder = join(temporaryFolder(), "site")
  await mkdir(join(folder, "assets/chunks"), { recursive: true })
  await mkdir(join(folder, "decisions"))
  await writeFile(join(folder, "../secret.js"), "secret")
  await writeFile(join(folder, ".hidden.js"), "secret")
  await writeFile(join(folder, "index.html"), "<h1>Start</h1>")
  await writeFile(join(folder, "404.html"), "<h1>None</h1>")
  await writeFile(join(folder, "streaming.html"), `<h1>Streaming</h1>${" ".repeat(2000)}`)
  await writeFile(join(folder, "decisions/0001-one.html"), "<h1>One</h1>")
  await writeFile(join(folder, "vp-icons.css"), "a{}")
  await writeFile(join(folder, "assets/chunks/@index.A1.js"), "start()")
  return folder
}

const noKey = { headers: { "x-api-key": "" } }

test("pages of the documentation have addresses without an ending, and need no key", async () => {
  await using api = await startApi({ docsFolder: await docsFolder() })
  const paths = ["/docs/", "/docs/streaming", "/docs/decisions/0001-one", "/docs/nothing", "/docs/streaming/"]

  const pages = await Promise.all(paths.map((path) => api.call("GET", path, noKey)))
  const start = await api.call("GET", "/docs", noKey)

  assert.deepEqual(
    pages.map(({ status, text }) => [status, text.trim()]),
    [
      [200, "<h1>Start</h1>"],
      [200, "<h1>Streaming</h1>"],
      [200, "<h1>One</h1>"],
      [404, "<h1>None</h1>"],
      [404, "<h1>None</h1>"],
    ],
  )
  assert.deepEqual([start.status, start.headers.get("location")], [302, "/docs/"])
})

test("a page runs only scripts of this origin; its files are kept for ever, itself until it changes", async () => {
  const folder = await docsFolder()
  await using api = await startApi({ docsFolder: folder })
  const ask = (headers: Record<string, string>) =>
    api.fetch(new Request("http://localhost/docs/streaming", { headers }))

  const page = await api.call("GET", "/docs/streaming", noKey)
  const { headers } = page
  const asset = await api.call("GET", "/docs/assets/chunks/@index.A1.js", noKey)
  const icons = await api.call("GET", "/docs/vp-icons.css", noKey)
  const etag = String(headers.get("etag"))
  const [same, packed] = [await ask({ "if-none-match": etag }), await ask({ "accept-encoding": "gzip" })]
  await writeFile(join(folder, "streaming.html"), "<h1>Changed</h1>")
  await utimes(join(folder, "streaming.html"), 1, 1)
  const changed = await ask({ "if-none-match": etag })

  assert.equal(
    headers.get("content-security-policy"),
    "default-src 'none'; script-src 'self'; style-src 'self'; style-src-attr 'unsafe-inline'; img-src 'self' data:; " +
      "font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'self'; frame-ancestors 'none'",
  )
  const kept = [page, asset, icons].flatMap((it) => headersOf(it, "cache-control"))
  assert.deepEqual(kept, ["no-cache", "public, max-age=31536000, immutable", "no-cache"])
  assert.deepEqual([same.status, await same.text()], [304, ""])
  assert.match(gunzipSync(Buffer.from(await packed.arrayBuffer())).toString(), /^<h1>Streaming/)
  assert.deepEqual([changed.status, await changed.text()], [200, "<h1>Changed</h1>"])
})

test("where the site is not built, each page says how to build it and where the API's reference is", async () => {
  await using api = await startApi()

  const page = await api.call("GET", "/docs/streaming", noKey)
  const reference = await api.call("GET", "/docs/api", noKey)

  assert.equal(page.status, 404)
  assert.match(page.text, /npm run docs/)
  assert.match(page.text, /href="\/docs\/api"/)
  assert.match(reference.text, /href="\.\.\/openapi\.json"/)
})
