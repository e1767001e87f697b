/** The Python worker has the conversations of the protocol word for word, and does with a graph what this one does. */
import assert from "node:assert/strict"
import { readdirSync } from "node:fs"
import { test } from "node:test"
import { readGraphs } from "./langgraph-json.js"
import { FakeServer } from "./testing/fake-server.js"
import { readFixture, replay, workerFrames } from "./testing/replay.js"

const interpreter = process.env.SUPERSTEP_TEST_PYTHON ?? ""
const skip = interpreter === "" && "no Python with langgraph: .ci/run installs it and sets SUPERSTEP_TEST_PYTHON"

const worker = new URL("../../python/", import.meta.url).pathname
const conversations = new URL("../../../protocol/worker/fixtures/", import.meta.url).pathname
const { project, graphs } = readGraphs(`${worker}testing/graphs/langgraph.json`)

const start = (options = {}) => FakeServer.start(`${worker}main.py`, { interpreter, ...options })

const known = {
  "<project>": project,
  "<language>": "python",
  ...Object.fromEntries(Object.entries(graphs).map(([graphId, spec]) => [`<graph ${graphId}>`, spec])),
}

for (const name of readdirSync(conversations).filter((each) => each.endsWith(".jsonl"))) {
  test(`the Python worker has the conversation ${name}`, { skip }, async () => {
    await using server = await start({ answers: false })
    const lines = readFixture(`${conversations}${name}`)

    await replay(server, lines, known)

    assert.equal(await server.exit(), 0)
    assert.equal(server.received.length, workerFrames(lines), "the worker said more than the conversation has")
  })
}
