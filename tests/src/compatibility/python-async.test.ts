/** What docs/compatibility.md says of the Python client is what this run shows. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { clientTable } from "./page.js"
import { callPython, skip } from "./python.js"
import { expectSections, failuresOf, startServer } from "./testing.js"

test("every method of the asynchronous Python client and of its RemoteGraph works", { skip }, async () => {
  await using parts = await startServer()
  const { server, routes } = parts

  const { called, uncalled } = await callPython(server, "async")

  assert.deepEqual(uncalled, [])
  assert.deepEqual(failuresOf(called), [])
  await expectSections({ "Methods of the Python client": clientTable({ called, gaps: {} }, routes) })
})
