/** Python graphs get Python workers; a project without them gets none. */
import assert from "node:assert/strict"
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { fileURLToPath } from "node:url"
import { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres"
import { createLog } from "@superstep/toolkit/log/log"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { checkpointCalls } from "../checkpoints/calls.js"
import { addRun, serverDatabase } from "../checkpoints/testing/claimed-runs.js"
import { journalOfAnyClaim } from "../checkpoints/testing/journal-of-any-claim.js"
import { officialUri, untilOfficialLeft } from "../testing/official-sessions.js"
import { slotsForAnyGraph, slotsWithout } from "./language-slots.js"
import { type Language, languageOfEmbedding, languageOfWorker, pythonOf } from "./languages.js"
import { slotsOfRoutes } from "./routes.js"
import { project, resultOf, runOrder, startTestPool } from "./testing/test-pool.js"

const python = process.env.SUPERSTEP_TEST_PYTHON ?? ""
const skip = python === "" && "no Python with langgraph: .ci/run installs it and sets SUPERSTEP_TEST_PYTHON"

const pythonGraph = fileURLToPath(new URL("../../../workers/python/testing/graphs/simple.py", import.meta.url))
const chat = "./chat.ts:graph"

test("all code of a worker is in one language, and an embedding of a provider in any", () => {
  assert.equal(languageOfWorker({ graphs: { a: "./a.py:g" } }), "python")
  assert.equal(languageOfWorker({ graphs: {}, auth: "./auth.py:auth", app: "./app.py:app" }), "python")
  assert.equal(languageOfWorker({ graphs: {}, app: "./app.ts" }), "javascript")
  const embeddings = ["./embed.py:embed", "agent.embedding:embed", "embed.ts:embed", "openai:text-embedding-3"]
  assert.deepEqual(embeddings.map(languageOfEmbedding), ["python", "python", "javascript", undefined])
})

test("a run takes a slot of its graph's language, and a run of an unknown graph one of any", () => {
  const project = { graphs: { a: "./a.ts:g", b: "./b.py:g", c: "./c.js:g" } }
  const generation = (free: Record<Language, number>) => ({
    project,
    freeSlots: (language: Language) => free[language],
  })
  const newest = generation({ javascript: 1, python: 3 })
  const old = generation({ javascript: 2, python: 7 })
  const routes = new Map([
    ["a", newest],
    ["b", newest],
    ["c", old],
  ])

  const slots = slotsOfRoutes(routes)

  assert.deepEqual(slots, [
    { free: 3, otherGraphs: ["b"] },
    { free: 3, otherGraphs: ["a", "c"] },
  ])
  const freeWithout = (graphIds: readonly string[]) => slotsWithout(slots, graphIds).map(({ free }) => free)
  assert.deepEqual(freeWithout(["b", "b"]), [3, 1])
  assert.deepEqual(freeWithout(["a", "b", "unknown", "c", "a"]), [0, 1])
  assert.equal(slotsForAnyGraph(slotsWithout(slots, ["b"])), 2)
})

test("the Python of a project's .venv is used", () => {
  const folder = temporaryFolder()

  const before = pythonOf(folder, "python3")
  mkdirSync(join(folder, ".venv/bin"), { recursive: true })
  writeFileSync(join(folder, ".venv/bin/python"), "")
  const after = pythonOf(folder, "python3")

  assert.deepEqual([before, after], ["python3", join(folder, ".venv/bin/python")])
})

test("without Python its graphs fail with instructions, and the other graphs load", async () => {
  await using testing = await startTestPool({
    project: project({ chat, py: "./a.py:graph" }),
    python: "no-such-python",
  })

  const { graphs, failed } = testing.report

  assert.deepEqual(graphs, ["chat"])
  const instruction = /there is no no-such-python: install Python .* or name one with SUPERSTEP_PYTHON/
  assert.match(failed[0]?.message ?? "", instruction)
})

test("one worker starts per language of the project's graphs", { skip }, async () => {
  const startedFor = async (graphs: Record<string, string>) => {
    let started = 0
    const write = (line: string) => {
      if (line.includes("worker started")) started += 1
    }
    const log = createLog({ process: "test", level: "debug" }, { write })
    await using testing = await startTestPool({ project: project(graphs), python, log, workers: 2 })
    assert.deepEqual([testing.report.graphs, testing.report.failed], [Object.keys(graphs), []])
    return started
  }

  const py = `${pythonGraph}:builder`

  assert.deepEqual(await startedFor({ chat }), 1)
  assert.deepEqual(await startedFor({ py }), 1)
  assert.deepEqual(await startedFor({ chat, py }), 2)
})

test("a Python worker's title has its deployment and its role", {
  skip: skip || (process.platform !== "linux" && "titles are set on Linux"),
}, async () => {
  const pids: number[] = []
  const write = (line: string) => {
    if (line.includes("worker started")) pids.push(JSON.parse(line).pid)
  }
  const log = createLog({ process: "test", level: "debug" }, { write })
  const py = `${pythonGraph}:builder`

  await using _testing = await startTestPool({ name: "my-agent", project: project({ py }), python, log })

  const titles = pids.map((pid) => readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", ""))
  assert.deepEqual(titles, ["superstep my-agent worker 1.1.1"])
})

test("LangGraph's own saver reads the state of a run of a Python graph", { skip }, async () => {
  await using db = await serverDatabase()
  const log = createLog({ process: "test", level: "silent" })
  const journal = journalOfAnyClaim({ db, log })
  const handlers = checkpointCalls({ db, journal })
  const graphs = { chat: `${pythonGraph}:builder` }
  await using testing = await startTestPool({ project: project(graphs), python, handlers })
  const order = runOrder([], { ...(await addRun(db)), input: JSON.stringify({ n: 1 }) })

  const { status, values } = await resultOf(testing.run([], order))

  assert.deepEqual([status, values], ["success", '{"n":2}'])
  // A worker ends its run when its writes are sent; the server commits the end after them (W3). Here nothing commits an end.
  await journal.of(order).settled()
  const official = PostgresSaver.fromConnString(officialUri(db))
  const tuple = await official.getTuple({ configurable: { thread_id: order.threadId } })
  await official.end()
  await untilOfficialLeft(db)
  assert.equal(tuple?.checkpoint.channel_values.n, 2)
})
