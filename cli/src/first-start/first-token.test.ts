import assert from "node:assert/strict"
import type { ServerResponse } from "node:http"
import { json } from "node:stream/consumers"
import { test } from "node:test"
import { portServer } from "@superstep/toolkit/testing/http-server"
import { streamsToken } from "./first-token.js"

/** Asks a real server that replies in this way; `asked` is what it received. */
async function ask(reply: (response: ServerResponse) => void, signal = new AbortController().signal) {
  const asked: unknown[] = []
  using server = await portServer(async (request, response) => {
    const { assistant_id } = (await json(request)) as { assistant_id: string }
    asked.push([request.method, request.url, request.headers["x-api-key"], assistant_id])
    reply(response)
  })
  const url = `${server.origin}/d/chat`
  const streamed = await streamsToken({ url, graph: "chat", apiKey: "key" }, signal)
  return { streamed, asked }
}

test("the first token counts as soon as it arrives, also in two pieces, while the answer goes on", async () => {
  const { streamed, asked } = await ask((response) => {
    response.write("event: metadata\ndata: {}\n\nevent: mess")
    setImmediate(() => response.write('ages\ndata: [{"content":"Hel"}]\n\n'))
  })

  assert.equal(streamed, true)
  assert.deepEqual(asked, [["POST", "/d/chat/runs/stream", "key", "chat"]])
})

test("a refusal, an answer without a token, and a broken connection are no token", async () => {
  const refused = await ask((response) => response.writeHead(503).end("event: messages\n"))
  const empty = await ask((response) => response.end('event: error\ndata: {"message":"no event: messages"}\n\n'))
  const broken = await ask((response) => response.destroy())

  assert.deepEqual([refused.streamed, empty.streamed, broken.streamed], [false, false, false])
})

test("a stop ends the waiting", async () => {
  const stop = new AbortController()

  const { streamed } = await ask(() => stop.abort(), stop.signal)

  assert.equal(streamed, false)
})
