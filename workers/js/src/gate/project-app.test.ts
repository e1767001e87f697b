/** From the project's app to the server: neither a body nor bytes after a request are parsed as a request. */
import assert from "node:assert/strict"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, test } from "node:test"
import { signTicket } from "@superstep/protocol/http/own-headers"
import { checkHostile, hostileRequests, sendRaw, startTarget } from "@superstep/protocol/http/testing/hostile-requests"
import { Hono } from "hono"
import { listenForApp } from "./project-app.js"

const credential = "of-the-server"
const ticket = signTicket("1", credential)
const known = `Host: a\r\nX-Superstep-Ticket: ${ticket}\r\n`
const hidden = "DELETE /threads/of-somebody HTTP/1.1\r\nHost: a\r\n\r\n"

const folder = mkdtempSync(join(tmpdir(), "sa-"))
after(() => rmSync(folder, { recursive: true, force: true }))

let started = 0

/** An app in front of a server that records all requests that it parses. */
async function appBeforeTarget(app: Parameters<typeof listenForApp>[0]) {
  started += 1
  const [appSocket, serverSocket] = [join(folder, `app${started}.sock`), join(folder, `server${started}.sock`)]
  const target = await startTarget(serverSocket)
  const server = await listenForApp(app, appSocket, { socket_path: serverSocket, credential })
  const dispose = async () => {
    server.close()
    server.closeAllConnections()
    await target[Symbol.asyncDispose]()
  }
  return { appSocket, target, [Symbol.asyncDispose]: dispose }
}

const reads = new Hono().use(async (c, next) => {
  if (c.req.method !== "GET" && c.req.method !== "HEAD") await c.req.text()
  await next()
})

const apps = {
  "an app without a route": new Hono(),
  "an app whose middleware has read the body": reads,
  "an app that is no Hono app": { fetch: () => new Response(null, { status: 404 }) },
}

for (const [name, app] of Object.entries(apps)) {
  test(`${name} forwards a hostile request as one request, or it is rejected`, async (t) => {
    await using setup = await appBeforeTarget(app)
    const { appSocket, target } = setup

    for (const hostile of hostileRequests({ path: "/store/items", head: `${known}Connection: close\r\n`, hidden })) {
      await t.test(hostile.name, async () => {
        checkHostile(hostile, await sendRaw(appSocket, hostile.bytes), target, { dropsBodyOf: ["GET", "HEAD"] })
      })
    }
  })
}

test("pipelined requests are checked separately: one without a ticket is rejected", async () => {
  await using setup = await appBeforeTarget(new Hono())
  const { appSocket, target } = setup
  const first = `DELETE /a HTTP/1.1\r\n${known}Content-Length: 2\r\n\r\n{}`
  const last = `DELETE /c HTTP/1.1\r\n${known}Connection: close\r\n\r\n`

  const reply = await sendRaw(appSocket, first + hidden + last)

  assert.deepEqual(reply.match(/HTTP\/1\.1 \d+/g), ["HTTP/1.1 200", "HTTP/1.1 403", "HTTP/1.1 200"])
  assert.deepEqual(
    target.seen.map(({ method, url }) => `${method} ${url}`),
    ["DELETE /a", "DELETE /c"],
  )
})

test("while the server stops, requests that the app forwards get 503 and not 500", async () => {
  const appSocket = join(folder, "app-alone.sock")
  const server = await listenForApp(new Hono(), appSocket, { socket_path: join(folder, "nobody.sock"), credential })

  const reply = await sendRaw(appSocket, `GET /threads HTTP/1.1\r\n${known}Connection: close\r\n\r\n`)

  assert.match(reply, /^HTTP\/1\.1 503/)
  assert.match(reply, /^retry-after: 1\r$/im)
  server.close()
})

test("an app does not receive our headers, and cannot set them", async () => {
  const app = new Hono<{ Bindings: { incoming: { rawHeaders: string[]; headers: object } } }>()
    .get("/seen", (c) => {
      const { rawHeaders, headers } = c.env.incoming
      return c.json([Object.keys(c.req.header()), rawHeaders, Object.keys(headers)])
    })
    .use(async (c, next) => {
      const headers = new Headers(c.req.raw.headers)
      headers.set("x-superstep-credential", "made up")
      headers.set("x-superstep-ticket", "made up")
      c.req.raw = new Request(c.req.url, { headers })
      await next()
    })
  await using setup = await appBeforeTarget(app)
  const { appSocket, target } = setup
  const head = `${known}X-Superstep-User: %7B%7D\r\nX-A: 1\r\nConnection: close\r\n\r\n`

  const seen = await sendRaw(appSocket, `GET /seen HTTP/1.1\r\n${head}`)
  const passed = await sendRaw(appSocket, `GET /passed HTTP/1.1\r\n${head}`)

  assert.match(passed, /^HTTP\/1\.1 200 /)
  assert.match(seen, /x-a/i)
  assert.doesNotMatch(seen, /x-superstep/i)
  const own = Object.entries(target.seen[0]?.headers ?? {}).filter(([name]) => name.startsWith("x-superstep-"))
  assert.deepEqual(own, [["x-superstep-ticket", [ticket]]])
})
