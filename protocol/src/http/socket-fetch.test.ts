import assert from "node:assert/strict"
import { PassThrough } from "node:stream"
import { test } from "node:test"
import { setImmediate as turn } from "node:timers/promises"
import { webStreamOf } from "./socket-fetch.js"

test("a reader that leaves while the first bytes come ends the stream, and not the process", async () => {
  // An error outside of any call would fail the test. In which microtask the reader leaves decides whether there is one.
  for (let microtasks = 0; microtasks < 12; microtasks++) {
    const source = new PassThrough()
    const body = webStreamOf(source)
    source.write("x")
    for (let count = 0; count < microtasks; count++) await undefined

    await body.cancel()
    await turn()

    assert.ok(source.destroyed)
  }
})

test("a reader that leaves while it waits ends the stream", async () => {
  const source = new PassThrough()
  const reader = webStreamOf(source).getReader()
  const read = reader.read()

  await reader.cancel()

  assert.deepEqual(await read, { value: undefined, done: true })
  assert.ok(source.destroyed)
})

test("an error comes to the reader, also one from before it reads", async () => {
  const source = new PassThrough()
  const body = webStreamOf(source)
  source.destroy(new Error("the connection broke"))
  await turn()

  await assert.rejects(new Response(body).text(), /the connection broke/)
})
