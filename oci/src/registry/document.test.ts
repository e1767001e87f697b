import assert from "node:assert/strict"
import { test } from "node:test"
import { documentOf, startOf } from "./document.js"
import { RegistryFailed } from "./failures.js"

/** An answer without an end. */
function endless() {
  let sent = 0
  const pull = (controller: ReadableStreamDefaultController<Uint8Array>) => {
    sent += 1024 * 1024
    controller.enqueue(new Uint8Array(1024 * 1024).fill(0x61))
  }
  return { response: new Response(new ReadableStream({ pull })), sent: () => sent }
}

test("of an answer without an end only a little is read", async () => {
  const [whole, start] = [endless(), endless()]

  await assert.rejects(documentOf(whole.response), RegistryFailed)
  assert.equal(await startOf(start.response), "a".repeat(500))
  assert.ok(whole.sent() < 16 * 1024 * 1024 && start.sent() < 4 * 1024 * 1024)
  assert.equal((await documentOf(new Response("{}"))).toString(), "{}")
})
