/** The recorded conversations, which workers of every language must follow exactly. */
import assert from "node:assert/strict"
import { readdirSync } from "node:fs"
import { test } from "node:test"
import { readGraphs } from "./loading/langgraph-json.js"
import { FakeServer } from "./testing/fake-server.js"
import { readFixture, replay, workerFrames } from "./testing/replay.js"
import { graphsFolder, workerMain } from "./testing/worker.js"

const folder = new URL("../../../protocol/worker/fixtures/", import.meta.url).pathname
const names = readdirSync(folder).filter((name) => name.endsWith(".jsonl"))

const { project, graphs } = readGraphs(`${graphsFolder}langgraph.json`)
const known = {
  "<project>": project,
  "<language>": "javascript",
  "<auth>": "./src/auth.ts:auth",
  ...Object.fromEntries(Object.entries(graphs).map(([graphId, spec]) => [`<graph ${graphId}>`, spec])),
}

test("there are conversations", () => {
  assert.ok(names.length > 0)
})

for (const name of names) {
  test(`the conversation ${name}`, async () => {
    await using server = await FakeServer.start(workerMain, { answers: false })
    const lines = readFixture(`${folder}${name}`)

    await replay(server, lines, known)

    // Each conversation ends with `stop`.
    assert.equal(await server.exit(), 0)
    assert.equal(server.received.length, workerFrames(lines), "the worker said more than the conversation has")
  })
}
