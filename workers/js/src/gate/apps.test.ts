/** From the project's app to the server: neither a body nor bytes after a request are parsed as a request. */
import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, describe, test } from "node:test"
import { signTicket } from "@superstep/protocol/http/own-headers"
import { checkHostile, hostileRequests, sendRaw, startTarget } from "@superstep/protocol/http/testing/hostile-requests"
import type { LoadedFrame } from "@superstep/protocol/worker/frames"
import { Hono } from "hono"
import { interpreter, project, startPythonWorker } from "../testing/python-worker.js"
import { listenForApp } from "./project-app.js"

const hasStarlette = interpreter !== "" && spawnSync(interpreter, ["-c", "import starlette"]).status === 0
const skip = !hasStarlette && "no Python with starlette: .ci/run installs it and sets SUPERSTEP_TEST_PYTHON"

const credential = "of-the-server"
const ticket = signTicket("1", credential)
const known = `Host: a\r\nX-Superstep-Ticket: ${ticket}\r\n`
const last = `${known}Connection: close\r\n\r\n`
const hidden = "DELETE /threads/of-somebody HTTP/1.1\r\nHost: a\r\n\r\n"

const folder = mkdtempSync(join(tmpdir(), "sa-"))
after(() => rmSync(folder, { recursive: true, force: true }))
let sockets = 0
const newSocket = () => join(folder, `${++sockets}.sock`)

interface RunningApp extends AsyncDisposable {
  readonly socketPath: string
}

/** @param app  of `apps.py` */
async function loadPython(app: string, socket_path: string) {
  const worker = await startPythonWorker()
  worker.send({ type: "load", project, graphs: {}, app: `apps:${app}`, loopback: { socket_path, credential } })
  const { header } = await worker.frame((frame) => frame.header.type === "loaded")
  return { worker, loaded: header as LoadedFrame }
}

async function startPython(app: string, serverSocket: string): Promise<RunningApp> {
  const { worker, loaded } = await loadPython(app, serverSocket)
  assert.equal(loaded.app_error, undefined)
  return { socketPath: loaded.app?.socket_path ?? "", [Symbol.asyncDispose]: () => worker[Symbol.asyncDispose]() }
}

const honoApps: Readonly<Record<string, Parameters<typeof listenForApp>[0]>> = {
  empty: new Hono(),
  reads: new Hono().use(async (c, next) => {
    if (c.req.method !== "GET" && c.req.method !== "HEAD") await c.req.text()
    await next()
  }),
  nobody: { fetch: () => new Response(null, { status: 404 }) },
  reports: new Hono<{ Bindings: { incoming: { rawHeaders: string[]; headers: object } } }>()
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
    }),
}

async function startHono(app: string, serverSocket: string): Promise<RunningApp> {
  const socketPath = newSocket()
  const server = await listenForApp(honoApps[app] ?? new Hono(), socketPath, { socket_path: serverSocket, credential })
  const dispose = async () => {
    server.close()
    server.closeAllConnections()
  }
  return { socketPath, [Symbol.asyncDispose]: dispose }
}

const languages = [
  { name: "JavaScript", skip: false as const, start: startHono, options: { dropsBodyOf: ["GET", "HEAD"] } },
  { name: "Python", skip, start: startPython, options: {} },
]

for (const { name, skip, start, options } of languages)
  describe(`in ${name}`, { skip }, () => {
    /** An app in front of a server that records all requests that it parses. */
    async function appBeforeTarget(app: string) {
      const serverSocket = newSocket()
      const target = await startTarget(serverSocket)
      const running = await start(app, serverSocket)
      const dispose = async () => {
        await running[Symbol.asyncDispose]()
        await target[Symbol.asyncDispose]()
      }
      return { appSocket: running.socketPath, target, [Symbol.asyncDispose]: dispose }
    }

    for (const app of ["empty", "reads", "nobody"]) {
      test(`the app \`${app}\` forwards a hostile request as one request, or it is rejected`, async (t) => {
        await using setup = await appBeforeTarget(app)
        const { appSocket, target } = setup

        for (const hostile of hostileRequests({
          path: "/store/items",
          head: `${known}Connection: close\r\n`,
          hidden,
        })) {
          await t.test(hostile.name, async () => {
            checkHostile(hostile, await sendRaw(appSocket, hostile.bytes), target, options)
          })
        }
        if (app !== "empty") return

        await t.test("pipelined requests are checked separately: one without a ticket is rejected", async () => {
          target.seen.length = 0
          const first = `DELETE /a HTTP/1.1\r\n${known}Content-Length: 2\r\n\r\n{}`

          const reply = await sendRaw(appSocket, `${first}${hidden}DELETE /c HTTP/1.1\r\n${last}`)

          assert.deepEqual(reply.match(/HTTP\/1\.1 \d+/g), ["HTTP/1.1 200", "HTTP/1.1 403", "HTTP/1.1 200"])
          const passed = target.seen.map(({ method, url }) => `${method} ${url}`)
          assert.deepEqual(passed, ["DELETE /a", "DELETE /c"])
        })
      })
    }

    test("while the server stops, requests that the app forwards get 503 and not 500", async () => {
      await using app = await start("empty", newSocket())

      const reply = await sendRaw(app.socketPath, `GET /threads HTTP/1.1\r\n${last}`)

      assert.match(reply, /^HTTP\/1\.1 503/)
      assert.match(reply, /^retry-after: 1\r$/im)
    })

    test("an app does not receive our headers, and cannot set them", async () => {
      await using setup = await appBeforeTarget("reports")
      const { appSocket, target } = setup
      const head = `X-Superstep-User: %7B%22identity%22%3A%22ada%22%7D\r\nX-A: 1\r\n${last}`

      const seen = await sendRaw(appSocket, `GET /seen HTTP/1.1\r\n${head}`)
      const passed = await sendRaw(appSocket, `GET /passed HTTP/1.1\r\n${head}`)

      assert.match(passed, /^HTTP\/1\.1 200 /)
      assert.match(seen, /x-a/i)
      assert.doesNotMatch(seen, /x-superstep/i)
      const own = Object.entries(target.seen[0]?.headers ?? {}).filter(([name]) => name.startsWith("x-superstep-"))
      assert.deepEqual(own, [["x-superstep-ticket", [ticket]]])
    })
  })

test("an answer that the server begins and does not end is broken off by an ASGI app, and is no 500", {
  skip,
}, async (t) => {
  const serverSocket = newSocket()
  const server = createServer((socket) =>
    socket.once("data", () => socket.end("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n")),
  )
  await once(server.listen(serverSocket), "listening")
  t.after(() => server.close())
  await using app = await startPython("empty", serverSocket)

  const reply = await sendRaw(app.socketPath, `GET /threads HTTP/1.1\r\n${last}`)

  assert.doesNotMatch(reply, /500|\{\}/)
})

test("an export that is no ASGI app does not load", { skip }, async () => {
  const { worker, loaded } = await loadPython("not_an_app", newSocket())
  await using _ = worker

  assert.match(loaded.app_error?.message ?? "", /apps:not_an_app is not an ASGI app but a int/)
})
