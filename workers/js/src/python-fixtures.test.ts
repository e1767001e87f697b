/** The Python worker follows the protocol's recorded conversations exactly. */
import assert from "node:assert/strict"
import { readdirSync } from "node:fs"
import { test } from "node:test"
import { project, pythonGraphs, skip, startPythonWorker } from "./testing/python-worker.js"
import { readFixture, replay, workerFrames } from "./testing/replay.js"

const conversations = new URL("../../../protocol/worker/fixtures/", import.meta.url).pathname

const known = {
  "<project>": project,
  "<language>": "python",
  "<auth>": "../twins/auth.py:auth",
  ...Object.fromEntries(Object.entries(pythonGraphs).map(([graphId, spec]) => [`<graph ${graphId}>`, spec])),
}

for (const name of readdirSync(conversations).filter((each) => each.endsWith(".jsonl"))) {
  // Each starts a worker; the twin in JavaScript follows all of them.
  const isWide =
    name !== "run.jsonl" && process.env.SUPERSTEP_WIDE_TESTS !== "1" && "starts Python: SUPERSTEP_WIDE_TESTS=1 runs it"
  test(`the Python worker follows the conversation ${name}`, { skip: skip || isWide }, async () => {
    await using server = await startPythonWorker({ answers: false })
    const lines = readFixture(`${conversations}${name}`)

    await replay(server, lines, known)

    assert.equal(await server.exit(), 0)
    assert.equal(server.received.length, workerFrames(lines), "the worker said more than the conversation has")
  })
}
