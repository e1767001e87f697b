/** WebSockets of a project's own app in Python (agent-server-api §13.1), through the server and the gate. */
import assert from "node:assert/strict"
import { randomBytes } from "node:crypto"
import { once } from "node:events"
import { text } from "node:stream/consumers"
import { describe, test } from "node:test"
import { until } from "@superstep/toolkit/testing/until"
import { WebSocket } from "ws"
import { type AgentServerProcess, startServerWithDatabase } from "./testing/agent-servers.js"
import { ask, bearer } from "./testing/ask.js"
import { languages } from "./testing/guarded-languages.js"

const { envOf = () => ({}), skip = true } = languages.find(({ name }) => name === "Python") ?? {}

interface Dial {
  readonly headers?: Record<string, string>
  readonly protocols?: string[]
}

const dial = ({ url, headers }: AgentServerProcess, path: string, { headers: more, protocols = [] }: Dial = {}) =>
  new WebSocket(`${url.replace("http", "ws")}${path}`, protocols, { headers: { ...headers, ...more } })

async function open(server: AgentServerProcess, path: string, options?: Dial): Promise<WebSocket> {
  const ws = dial(server, path, options)
  await once(ws, "open")
  return ws
}

/** The refusal of a handshake. */
async function refusal(server: AgentServerProcess, path: string, options?: Dial) {
  const ws = dial(server, path, options)
  const [, response] = await once(ws, "unexpected-response")
  return { status: response.statusCode, headers: response.headers, body: await text(response) }
}

const next = async (ws: WebSocket): Promise<Buffer> => (await once(ws, "message"))[0]
const closing = async (ws: WebSocket): Promise<[number, string]> => {
  const [code, reason] = await once(ws, "close")
  return [code, String(reason)]
}

describe("WebSockets of an app in Python", { skip }, () => {
  test("messages pass both ways, closes keep their codes, and what breaks the protocol is closed", async (t) => {
    await using server = await startServerWithDatabase({ env: envOf("app.json") })
    const left = async () => (await ask(server, "/custom/left")).body

    await t.test("texts and bytes come back as they were sent, however long and in however many frames", async () => {
      const ws = dial(server, "/custom/socket", { protocols: ["other", "echo"] })
      const [[response]] = await Promise.all([once(ws, "upgrade"), once(ws, "open")])
      assert.deepEqual([ws.protocol, response.headers["x-from"]], ["echo", "socket"])

      const bytes = randomBytes(3_000_000)
      for (const sent of ["", "grüße", "x".repeat(126), "y".repeat(70_000), bytes]) {
        const came = next(ws)
        ws.send(sent)
        assert.ok(Buffer.from(sent as string).equals(await came))
      }
      const [came, ponged] = [next(ws), once(ws, "pong")]
      ws.send("one ", { fin: false })
      ws.ping("in between")
      ws.send("message", { fin: true })
      assert.equal(String(await came), "one message")
      assert.equal(String((await ponged)[0]), "in between")
      ws.terminate()
    })

    await t.test("many messages at once keep their order", async () => {
      const ws = await open(server, "/custom/socket")
      const came: string[] = []
      ws.on("message", (data) => came.push(String(data)))

      const sent = Array.from({ length: 500 }, (_, at) => `message ${at}`)
      for (const message of sent) ws.send(message)

      await until(() => came.length === sent.length, { what: "all have come back" })
      assert.deepEqual(came, sent)
      ws.terminate()
    })

    await t.test("the client's close reaches the app, and the app's the client", async () => {
      const leaving = await open(server, "/custom/socket")
      leaving.close(4001, "bye")
      assert.deepEqual(await closing(leaving), [4001, ""])
      await until(async () => (await left())?.[0] === 4001, { what: "the app has been told" })
      assert.deepEqual(await left(), [4001, "bye"])

      const asking = await open(server, "/custom/socket")
      asking.send("close")
      assert.deepEqual(await closing(asking), [4321, "as you wish"])
    })

    await t.test("a client that vanishes ends its WebSocket, also in an app that only sends", async () => {
      for (const path of ["/custom/socket", "/custom/flood"]) {
        const ws = await open(server, path)
        if (path === "/custom/flood") await next(ws)
        ws.terminate()
        await until(async () => (await left())?.[0] === 1006, { what: `the app has noticed, at ${path}` })
        const other = await open(server, "/custom/socket")
        other.close(4002)
        await until(async () => (await left())?.[0] === 4002, { what: "the next one is another" })
      }
    })

    await t.test("what breaks the protocol, and what is too long, is closed with its code", async () => {
      const broken: [number, (ws: WebSocket) => void][] = [
        [1002, (ws) => ws.send("without a mask", { mask: false })],
        [1007, (ws) => ws.send(Buffer.from([0xff, 0xfe]), { binary: false })],
        [1009, (ws) => ws.send(Buffer.alloc(16 * 1024 * 1024 + 1))],
      ]
      for (const [code, breaks] of broken) {
        const ws = await open(server, "/custom/socket")
        breaks(ws)
        assert.equal((await closing(ws))[0], code)
      }
    })

    await t.test("an app that fails closes with 1011, and its error is only in the log", async () => {
      const ws = await open(server, "/custom/socket")
      ws.send("fail")

      assert.deepEqual(await closing(ws), [1011, ""])
      assert.match(server.log(), /RuntimeError: a bug/)
    })

    await t.test("a refused handshake gets the app's answer; a path without a WebSocket is 404", async () => {
      const closed = await refusal(server, "/custom/refused")
      const { status, body, headers } = await refusal(server, "/custom/refused?reason")
      assert.equal(closed.status, 403)
      assert.deepEqual([status, body, headers["retry-after"]], [429, '{"detail":"not today"}', "60"])
      // A WebSocket passes no middleware for HTTP, so it never reaches a route of the server.
      for (const path of ["/custom/nothing", "/custom/hello", "/info", "/assistants/echo/graph"]) {
        const { status, body } = await refusal(server, path)
        assert.deepEqual([status, JSON.parse(body).code], [404, "not_found"], path)
      }
    })

    await t.test("a WebSocket closes when the server stops, with the code for a restart", async () => {
      const ws = await open(server, "/custom/socket")
      server.terminate()

      assert.equal((await closing(ws))[0], 1012)
    })
  })

  test("with authentication first a WebSocket opens only for somebody known, whom the app finds in its scope", async () => {
    await using server = await startServerWithDatabase({ env: envOf("auth-first.json") })

    const stranger = await refusal(server, "/custom/socket")
    assert.deepEqual([stranger.status, stranger.headers["www-authenticate"]], [401, 'Bearer realm="agents"'])
    assert.equal((await refusal(server, "/custom/socket", { headers: bearer("eve") })).status, 403)

    const pretending = { ...bearer("ada"), "x-superstep-user": encodeURIComponent('{"identity":"bob"}') }
    const page = { protocols: [`authorization.${Buffer.from("Bearer bob-token").toString("base64url")}`, "echo"] }
    for (const [name, options] of Object.entries({ ada: { headers: pretending }, bob: page })) {
      const ws = dial(server, "/custom/socket", options)
      assert.equal(String(await next(ws)), name)
      ws.terminate()
    }
  })

  test("without it the app answers for its own WebSockets, and a thread's keeps the project's rules", async () => {
    await using server = await startServerWithDatabase({ env: envOf("both.json") })

    const ws = await open(server, "/custom/socket")
    ws.terminate()
    const path = "/threads/019f0000-0000-7000-8000-000000000000/stream/events"
    assert.equal((await refusal(server, path)).status, 401)
    const own = await open(server, path, { headers: bearer("ada") })
    own.terminate()
  })
})
