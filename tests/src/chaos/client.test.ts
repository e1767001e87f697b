/** What a conversation's client puts up with: a server that is gone or says "not now", and no other refusal. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { portServer } from "@superstep/toolkit/testing/http-server"
import { seededRandom } from "@superstep/toolkit/testing/seeded-random"
import { EventClient, UnexpectedAnswer } from "superstep/prove/event-client"
import { ConversationClient } from "./client.js"
import { conversationOf } from "./conversation.js"

/** Answers one request after the other with what is listed, and with the last of them from then on. */
async function answering(...answers: ("gone" | 404 | 503)[]) {
  let asked = 0
  const server = await portServer((_, response) => {
    const answer = answers[Math.min(asked++, answers.length - 1)]
    if (answer === "gone") response.destroy()
    else response.writeHead(answer ?? 404, answer === 503 ? { "retry-after": "1" } : {}).end("{}")
  })
  return { ...server, url: server.origin, asked: () => asked }
}

const address = { threadId: "t", runId: "r" }

test("a 503 that says when and a lost connection are tried again, a 404 is a broken promise", async () => {
  await using server = await answering(503, "gone", 503, 404)
  const url = () => server.url

  const begun = new ConversationClient(conversationOf({ name: "asked" }), [], seededRandom(1), url).begin()

  await assert.rejects(begun, UnexpectedAnswer)
  assert.equal(server.asked(), 4)
})

test("the same holds for who reads a stream, and for who creates a run with one", async () => {
  await using server = await answering(503, "gone", 404)
  const client = new EventClient(() => server.url, AbortSignal.timeout(30_000))
  const create = () => client.create("t", {}, () => assert.fail("nothing was acknowledged"))

  await assert.rejects(create(), (error) => !(error instanceof UnexpectedAnswer))
  await assert.rejects(client.follow(address), UnexpectedAnswer)
  assert.equal(server.asked(), 3)
  await assert.rejects(create(), UnexpectedAnswer)
})
