/** The recorded conversations, which workers of every language must follow exactly. */
import assert from "node:assert/strict"
import { readdirSync } from "node:fs"
import { test } from "node:test"
import { readGraphs } from "./loading/langgraph-json.js"
import { FakeServer } from "./testing/fake-server.js"
import { pythonGraphs, project as pythonProject, skip, startPythonWorker } from "./testing/python-worker.js"
import { readFixture, replay, workerFrames } from "./testing/replay.js"
import { graphsFolder, workerMain } from "./testing/worker.js"

const folder = new URL("../../../protocol/worker/fixtures/", import.meta.url).pathname
const names = readdirSync(folder).filter((name) => name.endsWith(".jsonl"))
const { project, graphs } = readGraphs(`${graphsFolder}langgraph.json`)

// Each conversation starts a worker, and most of them follow what another test shows, too.
const usual = new Set(["run.jsonl", "interrupt.jsonl", "cancel.jsonl", "protocol-run.jsonl"])
const unlessUsual = (name: string) =>
  !usual.has(name) && process.env.SUPERSTEP_WIDE_TESTS !== "1" && "starts a worker: SUPERSTEP_WIDE_TESTS=1 runs it"

const languages = [
  {
    language: "javascript",
    why: unlessUsual,
    start: () => FakeServer.start(workerMain, { answers: false }),
    values: { project, graphs, auth: "./src/auth.ts:auth" },
  },
  {
    language: "python",
    why: (name: string) => skip || unlessUsual(name),
    start: () => startPythonWorker({ answers: false }),
    values: { project: pythonProject, graphs: pythonGraphs, auth: "../twins/auth.py:auth" },
  },
]

test("there are conversations", () => {
  assert.ok(names.length > 0)
})

for (const { language, why, start, values } of languages)
  for (const name of names)
    test(`the worker for ${language} follows the conversation ${name}`, { skip: why(name) }, async () => {
      await using server = await start()
      const lines = readFixture(`${folder}${name}`)

      await replay(server, lines, {
        "<project>": values.project,
        "<language>": language,
        "<auth>": values.auth,
        ...Object.fromEntries(Object.entries(values.graphs).map(([graphId, spec]) => [`<graph ${graphId}>`, spec])),
      })

      // Each conversation ends with `stop`.
      assert.equal(await server.exit(), 0)
      assert.equal(server.received.length, workerFrames(lines), "the worker said more than the conversation has")
    })
