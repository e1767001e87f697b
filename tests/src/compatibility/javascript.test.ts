/** What docs/compatibility.md says of the JavaScript client is what this run shows. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { callAll, gaps, uncalled } from "./javascript.js"
import { clientTable, routeTable } from "./page.js"
import { expectSections, failuresOf, startServer } from "./testing.js"

test("every method of the JavaScript client and of its RemoteGraph works", async () => {
  await using parts = await startServer()
  const { server, routes } = parts

  const called = await callAll(server)

  assert.deepEqual(uncalled(server.client), [])
  assert.deepEqual(failuresOf(called), [])
  await expectSections({
    "Methods of the JavaScript client": clientTable({ called, gaps }, routes),
    Routes: routeTable(routes, called),
  })
})
