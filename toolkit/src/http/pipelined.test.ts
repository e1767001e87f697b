/** Requests that a client sends behind another one, on one connection. */
import assert from "node:assert/strict"
import type { ServerResponse } from "node:http"
import { connect } from "node:net"
import { test } from "node:test"
import { until } from "../testing/until.js"
import { listen } from "./listen.js"

interface Asked {
  readonly response: ServerResponse
  closed: number
  answer(text: string): void
}

/** A server that answers when the test says so. */
async function serving() {
  const asked: Asked[] = []
  const fetch = (_: Request, env: { outgoing: ServerResponse }) =>
    new Promise<Response>((resolve) => {
      const one: Asked = { response: env.outgoing, closed: 0, answer: (text) => resolve(new Response(text)) }
      env.outgoing.on("close", () => one.closed++)
      asked.push(one)
    })
  const listening = await listen(fetch as never, { host: "127.0.0.1", port: 0 })
  const client = connect(listening.port ?? 0, "127.0.0.1").setEncoding("utf8")
  client.write("GET /a HTTP/1.1\r\nHost: a\r\n\r\n".repeat(3))
  await until(() => asked.length === 3, { what: "three requests" })
  return { asked, client, [Symbol.asyncDispose]: () => listening.close(0) }
}

test("requests behind another one are over when their client leaves", async () => {
  await using it = await serving()

  it.client.destroy()

  await until(() => it.asked.every(({ closed }) => closed > 0), { what: "the end of all responses" })
  for (const { answer } of it.asked) answer("too late")
  assert.deepEqual(
    it.asked.map(({ closed, response }) => [closed, response.destroyed]),
    Array(3).fill([1, true]),
  )
})

test("requests behind another one are answered in their turn, and each is over once", async () => {
  await using it = await serving()
  let text = ""
  it.client.on("data", (chunk) => {
    text += chunk
  })

  for (const [n, { answer }] of [...it.asked.entries()].reverse()) answer(`answer ${n}.`)
  await until(() => text.includes("answer 2."), { what: "all answers" })
  it.client.destroy()

  await until(() => it.asked.every(({ response }) => response.closed), { what: "the end of all responses" })
  assert.deepEqual(text.match(/answer \d/g), ["answer 0", "answer 1", "answer 2"])
  assert.deepEqual(
    it.asked.map(({ closed }) => closed),
    [1, 1, 1],
  )
})
