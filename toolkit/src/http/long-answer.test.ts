/** Answers that take long, on a real connection where bytes and their order matter. */
import assert from "node:assert/strict"
import { once } from "node:events"
import { connect } from "node:net"
import { test } from "node:test"
import { Unavailable } from "../errors/errors.js"
import { createLog } from "../log/log.js"
import { errorHandler, replyToError } from "./errors.js"
import { listen } from "./listen.js"
import { longAnswer, longAnswers, longJson } from "./long-answer.js"
import { addRoute, createApi } from "./route.js"

const lines: Record<string, unknown>[] = []
const log = createLog({ process: "test", level: "debug" }, { write: (line) => lines.push(JSON.parse(line)) })
const options = { log, detail: "text" } as const

function deferred<T>() {
  let resolve: (value: T) => void = () => undefined
  let reject: (error: Error) => void = () => undefined
  const promise = new Promise<T>((...ends) => {
    ;[resolve, reject] = ends
  })
  return { promise, resolve, reject }
}

/** An app with one long route, whose work ends when the test says so. */
function slowApi(everyMs: number) {
  const work = deferred<Response>()
  const api = createApi()
  api.onError(errorHandler(options))
  api.use(longAnswers({ everyMs, replyTo: replyToError(options) }))
  addRoute(api, {
    method: "post",
    path: "/work",
    summary: "Work",
    lasts: "long",
    responses: { 200: { description: "Done" } },
    handle: () => work.promise,
  })
  return { api, work }
}

const start = async (everyMs: number) => {
  const { api, work } = slowApi(everyMs)
  const response = await api.request("/work", { method: "POST" })
  return { response, work }
}

/** Reads a body to its end. @returns its document, and whether it broke off */
async function readAll(response: Response) {
  const reader = (response.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream()).getReader()
  let text = ""
  try {
    for (;;) {
      const { value, done } = await reader.read()
      if (done) return { document: JSON.parse(text), breaksOff: false }
      text += value
    }
  } catch {
    return { document: JSON.parse(text), breaksOff: true }
  }
}

test("an error after the head is reported in the body, which then breaks off, and logged; a bug shows no details", async () => {
  for (const [thrown, error, message] of [
    [new Error("the password is x"), "internal", "internal error"],
    [new Unavailable("the database is away"), "unavailable", "the database is away"],
  ] as const) {
    const { response, work } = await start(1)

    work.reject(thrown)

    const document = { __error__: { error, message } }
    assert.deepEqual(await readAll(response), { document, breaksOff: true })
  }
  assert.deepEqual([lines.at(-1)?.level, lines.at(-1)?.msg], ["warn", "the database is away"])
})

test("on HTTP/1.0 a late error has its own status, also when a proxy on the way speaks it", async () => {
  const { api, work } = slowApi(1)
  const listening = await listen(api.fetch as never, { host: "127.0.0.1", port: 0 })
  const client = connect(listening.port ?? 0, "127.0.0.1")
  let bytes = ""
  client.on("data", (data) => {
    bytes += data
  })
  client.write("POST /work HTTP/1.0\r\nhost: a\r\ncontent-length: 0\r\n\r\n")
  const headers = { via: "1.1 outer, 1.0 superstep" }
  const proxied = fetch(`http://127.0.0.1:${listening.port}/work`, { method: "POST", headers })
  // Its head is sent at once, so the others have been asked by then.
  await fetch(`http://127.0.0.1:${listening.port}/work`, { method: "POST" })

  work.reject(new Unavailable("the database is away"))

  await once(client, "close")
  assert.match(bytes, /^HTTP\/1\.1 503 /)
  assert.equal((await proxied).status, 503)
  await listening.close(0)
})

test("a client that looks only at the status sees a late error, and one that looks at the bytes its reason", async () => {
  const { api, work } = slowApi(1)
  const listening = await listen(api.fetch as never, { host: "127.0.0.1", port: 0 })
  const address = `http://127.0.0.1:${listening.port}/work`
  const response = await fetch(address, { method: "POST" })
  const client = connect(listening.port ?? 0, "127.0.0.1")
  client.write("POST /work HTTP/1.1\r\nhost: a\r\ncontent-length: 0\r\n\r\n")
  let bytes = ""
  client.on("data", (data) => {
    bytes += data
  })
  const closed = once(client, "close")
  await once(client, "data")

  work.reject(new Unavailable("the database is away"))

  await assert.rejects(response.text(), "the answer is no success")
  await closed
  assert.match(bytes, /\{"__error__":\{"error":"unavailable","message":"the database is away"\}\}/)
  assert.doesNotMatch(bytes, /\r\n0\r\n\r\n$/, "the last chunk is missing")
  await listening.close(1000)
})

test("an error that the form shows to every client does not break the answer off", async () => {
  const work = deferred<Response>()
  const api = createApi()
  api.use(longAnswers({ everyMs: 1, replyTo: replyToError(options) }))
  api.get("/work", (c) =>
    longAnswer(c, () => work.promise, { ...longJson, error: () => ({ error: 1 }), isErrorSeen: true }),
  )
  const response = await api.request("/work")

  work.reject(new Unavailable("the database is away"))

  assert.deepEqual(await readAll(response), { document: { error: 1 }, breaksOff: false })
})
