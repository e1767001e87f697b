/** An ASGI app in the gate: from the app to the server, neither a body nor bytes after a request are parsed as a request. */
import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, test } from "node:test"
import { signTicket } from "@superstep/protocol/http/own-headers"
import { checkHostile, hostileRequests, sendRaw, startTarget } from "@superstep/protocol/http/testing/hostile-requests"
import type { LoadedFrame } from "@superstep/protocol/worker/frames"
import { interpreter, project, startPythonWorker } from "../testing/python-worker.js"

const hasStarlette = interpreter !== "" && spawnSync(interpreter, ["-c", "import starlette"]).status === 0
const skip = !hasStarlette && "no Python with starlette: .ci/run installs it and sets SUPERSTEP_TEST_PYTHON"

const credential = "of-the-server"
const ticket = signTicket("1", credential)
const known = `Host: a\r\nX-Superstep-Ticket: ${ticket}\r\n`
const hidden = "DELETE /threads/of-somebody HTTP/1.1\r\nHost: a\r\n\r\n"

const folder = mkdtempSync(join(tmpdir(), "sa-"))
after(() => rmSync(folder, { recursive: true, force: true }))

/** A gate with this app of `apps.py`, and the gate's report. */
async function startGate(app: string, socket_path: string) {
  const worker = await startPythonWorker()
  worker.send({ type: "load", project, graphs: {}, app: `apps:${app}`, loopback: { socket_path, credential } })
  const { header } = await worker.frame((frame) => frame.header.type === "loaded")
  return { worker, loaded: header as LoadedFrame }
}

/** An app in front of a server that records all requests that it parses. */
async function appBeforeTarget(app: string) {
  const serverSocket = join(folder, `${app}.sock`)
  const target = await startTarget(serverSocket)
  const { worker, loaded } = await startGate(app, serverSocket)
  assert.equal(loaded.app_error, undefined)
  const dispose = async () => {
    await worker[Symbol.asyncDispose]()
    await target[Symbol.asyncDispose]()
  }
  return { appSocket: loaded.app?.socket_path ?? "", target, [Symbol.asyncDispose]: dispose }
}

for (const app of ["empty", "reads", "nobody"]) {
  test(`the ASGI app \`${app}\` forwards a hostile request as one request, or it is rejected`, { skip }, async (t) => {
    await using setup = await appBeforeTarget(app)
    const { appSocket, target } = setup

    for (const hostile of hostileRequests({ path: "/store/items", head: `${known}Connection: close\r\n`, hidden })) {
      await t.test(hostile.name, async () => {
        checkHostile(hostile, await sendRaw(appSocket, hostile.bytes), target)
      })
    }
  })
}

test("pipelined requests to an ASGI app are checked separately: one without a ticket is rejected", {
  skip,
}, async () => {
  await using setup = await appBeforeTarget("empty")
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

test("while the server stops, requests that an ASGI app forwards get 503 and not 500", { skip }, async () => {
  const { worker, loaded } = await startGate("empty", join(folder, "nothing.sock"))
  await using _ = worker

  const request = `GET /threads HTTP/1.1\r\n${known}Connection: close\r\n\r\n`
  const reply = await sendRaw(loaded.app?.socket_path ?? "", request)

  assert.match(reply, /^HTTP\/1\.1 503/)
  assert.match(reply, /^retry-after: 1\r$/im)
})

test("an answer that the server begins and does not end is broken off, and is no 500", { skip }, async (t) => {
  const serverSocket = join(folder, "begins.sock")
  const server = createServer((socket) =>
    socket.once("data", () => socket.end("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n")),
  )
  await once(server.listen(serverSocket), "listening")
  t.after(() => server.close())
  const { worker, loaded } = await startGate("empty", serverSocket)
  await using _ = worker

  const reply = await sendRaw(
    loaded.app?.socket_path ?? "",
    `GET /threads HTTP/1.1\r\n${known}Connection: close\r\n\r\n`,
  )

  assert.doesNotMatch(reply, /500|\{\}/)
})

test("an ASGI app does not receive our headers, and cannot set them", { skip }, async () => {
  await using setup = await appBeforeTarget("reports")
  const { appSocket, target } = setup
  const head = `${known}X-Superstep-User: %7B%22identity%22%3A%22ada%22%7D\r\nX-A: 1\r\nConnection: close\r\n\r\n`

  const seen = await sendRaw(appSocket, `GET /seen HTTP/1.1\r\n${head}`)
  const passed = await sendRaw(appSocket, `GET /passed HTTP/1.1\r\n${head}`)

  assert.match(passed, /^HTTP\/1\.1 200 /)
  assert.match(seen, /x-a/)
  assert.doesNotMatch(seen, /x-superstep/i)
  const own = Object.entries(target.seen[0]?.headers ?? {}).filter(([name]) => name.startsWith("x-superstep-"))
  assert.deepEqual(own, [["x-superstep-ticket", [ticket]]])
})

test("an export that is no ASGI app does not load", { skip }, async () => {
  const { worker, loaded } = await startGate("not_an_app", join(folder, "none.sock"))
  await using _ = worker

  assert.match(loaded.app_error?.message ?? "", /apps:not_an_app is not an ASGI app but a int/)
})
