/** The synchronous Python client asks as the asynchronous one does. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { callPython, skip } from "./python.js"
import { failuresOf, startServer } from "./testing.js"

test("every method of the synchronous Python client and of its RemoteGraph works", { skip }, async () => {
  await using parts = await startServer()

  const { called, uncalled } = await callPython(parts.server, "sync")

  assert.deepEqual(uncalled, [])
  assert.deepEqual(failuresOf(called), [])
})
