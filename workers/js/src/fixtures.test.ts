/** The recorded conversations, which workers of every language must follow exactly. */
import assert from "node:assert/strict"
import { readdirSync } from "node:fs"
import { test } from "node:test"
import { seedOfCommit } from "@superstep/toolkit/testing/seed-of-commit"
import { unlessWide } from "@superstep/toolkit/testing/wide-tests"
import { readGraphs } from "./loading/langgraph-json.js"
import { FakeServer } from "./testing/fake-server.js"
import { pythonGraphs, project as pythonProject, skip, startPythonWorker } from "./testing/python-worker.js"
import { readFixture, replay, workerFrames } from "./testing/replay.js"
import { graphsFolder, workerMain } from "./testing/worker.js"

const folder = new URL("../../../protocol/worker/fixtures/", import.meta.url).pathname
const names = readdirSync(folder).filter((name) => name.endsWith(".jsonl"))
const { project, graphs } = readGraphs(`${graphsFolder}langgraph.json`)

const share = seedOfCommit()
/** Each conversation starts a worker, and the commit chooses a quarter of them. */
const unlessChosen = (number: number) =>
  (number + share) % 4 !== 0 && unlessWide("a quarter of the conversations is followed, and this one is of another")

const languages = [
  {
    language: "javascript",
    why: unlessChosen,
    start: () => FakeServer.start(workerMain, { answers: false }),
    values: { project, graphs, auth: "./src/auth.ts:auth" },
  },
  {
    language: "python",
    why: (number: number) => skip || unlessChosen(number),
    start: () => startPythonWorker({ answers: false }),
    values: { project: pythonProject, graphs: pythonGraphs, auth: "../twins/auth.py:auth" },
  },
]

test("there are conversations", () => {
  assert.ok(names.length > 0)
})

for (const { language, why, start, values } of languages)
  for (const [number, name] of names.entries())
    test(`the worker for ${language} follows the conversation ${name}`, { skip: why(number) }, async () => {
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
