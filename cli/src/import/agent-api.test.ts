import assert from "node:assert/strict"
import type { RequestListener } from "node:http"
import { type TestContext, test } from "node:test"
import { toJsonText } from "@superstep/toolkit/http/json"
import { portServer } from "@superstep/toolkit/testing/http-server"
import { AgentAway, AgentRefused, agentApi, InvalidAddress, unlessMissing } from "./agent-api.js"

async function serverThat(t: TestContext, answer: RequestListener, times: { readonly giveUpMs?: number } = {}) {
  const server = await portServer(answer)
  t.after(server[Symbol.dispose])
  const stop = new AbortController()
  return {
    stop,
    api: agentApi({ url: `${server.origin}/`, option: "--from", headers: {}, signal: stop.signal, ...times }),
  }
}

const failsAs = (kind: typeof AgentRefused | typeof AgentAway, words: RegExp) => (error: unknown) => {
  assert.ok(error instanceof kind)
  assert.match(error.message, words)
  return true
}

test("a busy or broken server is asked again, as it says, and numbers keep their text", async (t) => {
  const statuses = [429, 503, 500]
  const { api } = await serverThat(t, (_, response) => {
    const status = statuses.shift()
    if (status === 500) response.destroy()
    else response.writeHead(status ?? 200, { "retry-after": "0" }).end('{"n":12345678901234567890,"f":1.0}')
  })

  assert.equal(toJsonText(await api.send("GET", "/threads/1")), '{"n":12345678901234567890,"f":1.0}')
  assert.deepEqual(statuses, [])
})

test("what makes something has one key for all tries, and another one each time", async (t) => {
  const keys: unknown[] = []
  const { api } = await serverThat(t, ({ headers }, response) => {
    keys.push(headers["idempotency-key"])
    if (keys.length === 1) response.destroy()
    else response.end("{}")
  })

  await api.sendOnce("POST", "/runs/crons", {})
  await api.sendOnce("POST", "/runs/crons", {})
  await api.send("POST", "/threads/search", {})

  const [first, again, second, none] = keys
  assert.equal(typeof first, "string")
  assert.equal(again, first)
  assert.notEqual(second, first)
  assert.equal(none, undefined)
})

test("what a server that is there never answers is refused, and ends nothing else", async (t) => {
  const { api } = await serverThat(t, ({ url }, response) => response.writeHead(url === "/ok" ? 200 : 500).end("{}"), {
    giveUpMs: 0,
  })

  await assert.rejects(api.send("GET", "/threads/1/state"), failsAs(AgentRefused, /\/threads\/1\/state: .*\(500\)$/))
})

test("a server that gives no answer for the given time is away", async (t) => {
  const { api } = await serverThat(t, (_, response) => response.writeHead(503).end('{"detail":"starting"}'), {
    giveUpMs: 0,
  })

  await assert.rejects(api.send("GET", "/info"), failsAs(AgentAway, /\/info: starting \(503\)$/))
})

test("a refusal has the server's words, and is not asked again", async (t) => {
  let asked = 0
  const { api } = await serverThat(t, ({ url }, response) => {
    asked++
    if (url === "/redirect") response.writeHead(302, { location: "http://127.0.0.1:1/" }).end()
    else if (url === "/page") response.end("<html>")
    else response.writeHead(url === "/missing" ? 404 : 422).end('{"detail":[{"msg":"no such node"}]}')
  })

  await assert.rejects(api.send("POST", "/threads", {}), failsAs(AgentRefused, /no such node.*\(422\)/))
  assert.equal(asked, 1)
  assert.equal(await unlessMissing(api.send("GET", "/missing")), undefined)
  await assert.rejects(api.send("GET", "/page"), /not JSON: is this an agent server\?/)
  // It would take the key to another host.
  await assert.rejects(api.send("GET", "/redirect"), /redirects to http:\/\/127\.0\.0\.1:1\/: give the address/)
})

test("a stop ends a request at once", async (t) => {
  const { api, stop } = await serverThat(t, () => stop.abort(new Error("stopped")))

  await assert.rejects(api.send("GET", "/hangs"), /stopped/)
})

test("an address that no request can be sent to is refused at once, with its option", async () => {
  const apiAt = (url: string) => agentApi({ url, option: "--from", headers: {}, signal: new AbortController().signal })
  const invalid = (message: string) => ({ name: InvalidAddress.name, message })

  for (const url of ["notaurl", "ftp://a.test", "http://", "localhost:2024"])
    assert.throws(() => apiAt(url), invalid(`--from: expected an http or https address, not ${url}`))
  assert.throws(
    () => apiAt("http://me:secret@a.test"),
    invalid("--from: expected an http or https address without a user or a password"),
  )
  await assert.rejects(
    apiAt("http://127.0.0.1:1").send("GET", "/info"),
    invalid("--from: expected an http or https address with a port that fetch allows, not http://127.0.0.1:1"),
  )
})
