/** From the server's port to the project's app: a body, or bytes after a request, never arrive there as another request. */
import assert from "node:assert/strict"
import { join } from "node:path"
import { test } from "node:test"
import { checkHostile, hostileRequests, sendRaw, startTarget } from "@superstep/protocol/http/testing/hostile-requests"
import { Secret } from "@superstep/toolkit/config/settings"
import { errorHandler } from "@superstep/toolkit/http/errors"
import { listen } from "@superstep/toolkit/http/listen"
import { createApi } from "@superstep/toolkit/http/route"
import { createLog } from "@superstep/toolkit/log/log"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { anyone } from "../auth/caller.js"
import { requireUnitToken } from "../http/access.js"
import { fromOutside, setOrigin } from "../http/origin.js"
import { fetchOf } from "../http/raw-response.js"
import type { Gate } from "./gate.js"
import { openOwnChannel } from "./own-channel.js"
import { serveThroughApp } from "./project-app.js"

const hidden = "DELETE /threads/of-somebody HTTP/1.1\r\nHost: a\r\n\r\n"
const known = "Host: a\r\nX-Superstep-Unit: sesame\r\n"

/** A server in front of an app that records what it parses as a request. */
async function serverBeforeTarget() {
  const socketPath = join(temporaryFolder(), "app.sock")
  const target = await startTarget(socketPath)
  const channel = await openOwnChannel()
  const project = { app: "./app.ts:app", authFirst: false }
  const gate = { project, withApp: (work: (path: string) => Promise<Response>) => work(socketPath) } as unknown as Gate
  const app = createApi()
  app.onError(errorHandler({ log: createLog({ process: "test", level: "silent" }), detail: "text" }))
  app.use(setOrigin)
  app.use(fromOutside(requireUnitToken(new Secret("sesame"))))
  app.use(serveThroughApp({ gate, channel, identify: async () => anyone, hasSocketAt: () => false, mountPrefix: "" }))
  const listening = await listen(fetchOf(app), { host: "127.0.0.1", port: 0 })
  const dispose = async () => {
    await listening.close(0)
    await channel.close()
    await target[Symbol.asyncDispose]()
  }
  return { port: listening.port ?? 0, target, [Symbol.asyncDispose]: dispose }
}

test("a hostile request is rejected, or reaches the app as one request", async (t) => {
  await using setup = await serverBeforeTarget()
  const { port, target } = setup

  for (const hostile of hostileRequests({ path: "/x", head: `${known}Connection: close\r\n`, hidden })) {
    await t.test(hostile.name, async () => {
      // A `Request` with these methods has no body, so the server drops it.
      checkHostile(hostile, await sendRaw(port, hostile.bytes), target, { dropsBodyOf: ["GET", "HEAD"] })
    })
  }
})

test("bytes after a refused upgrade are not parsed as a request", async () => {
  await using setup = await serverBeforeTarget()
  const { port, target } = setup
  const upgrade = `GET /a HTTP/1.1\r\n${known}Connection: Upgrade, close\r\nUpgrade: websocket\r\n\r\n`

  const reply = await sendRaw(port, upgrade + hidden.replace("\r\n\r\n", `\r\n${known}\r\n`))

  assert.deepEqual(reply.match(/HTTP\/1\.1 \d+/g), ["HTTP/1.1 200"])
  const seen = target.seen.map(({ method, url, headers }) => [method, url, headers.upgrade])
  assert.deepEqual(seen, [["GET", "/a", undefined]])
})

test("pipelined requests are checked separately", async () => {
  await using setup = await serverBeforeTarget()
  const { port, target } = setup
  const first = `DELETE /a HTTP/1.1\r\n${known}Content-Length: 2\r\n\r\n{}`
  const last = `GET /c HTTP/1.1\r\n${known}Connection: close\r\n\r\n`

  const reply = await sendRaw(port, first + hidden + last)

  assert.deepEqual(reply.match(/HTTP\/1\.1 \d+/g), ["HTTP/1.1 200", "HTTP/1.1 401", "HTTP/1.1 200"])
  assert.deepEqual(fieldsOf(target.seen, "method", "url"), [
    ["DELETE", "/a"],
    ["GET", "/c"],
  ])
  assert.deepEqual(target.garbage, [])
})

test("reserved headers of a caller are removed", async () => {
  await using setup = await serverBeforeTarget()
  const { port, target } = setup
  const forged =
    "X-Superstep-User: ada\r\nx-superstep-credential: c\r\nX-SUPERSTEP-TICKET: t\r\nX-Superstep-Only-App: 1\r\n"

  await sendRaw(port, `GET /x HTTP/1.1\r\n${known}${forged}X-Superstepped: kept\r\nConnection: close\r\n\r\n`)

  const [seen] = target.seen
  const own = Object.keys(seen?.headers ?? {}).filter((name) => name.startsWith("x-superstep"))
  assert.deepEqual(own.sort(), ["x-superstep-ticket", "x-superstepped"])
  assert.equal(seen?.headers["x-superstep-ticket"]?.length, 1)
  assert.notEqual(seen?.headers["x-superstep-ticket"]?.[0], "t")
})
