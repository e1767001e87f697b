/** A project with graphs in both languages: the workers of one language do not hold up runs of the other (R13). */
import assert from "node:assert/strict"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { until } from "@superstep/toolkit/testing/until"
import { type AgentServerProcess, startServerWithDatabase } from "./testing/agent-servers.js"
import { testPython, withoutPython } from "./testing/languages.js"
import { projectWith } from "./testing/projects.js"

/** Both graphs wait until the file exists that their input names. */
const files = {
  "langgraph.json": JSON.stringify({
    dependencies: ["."],
    graphs: { javascript: "./agent.js:graph", python: "./agent.py:graph" },
  }),
  "package.json": JSON.stringify({ type: "module" }),
  "agent.js": `
import { existsSync } from "node:fs"
import { setTimeout } from "node:timers/promises"
import { Annotation, START, StateGraph } from "@langchain/langgraph"

const wait = async ({ file }) => {
  while (!existsSync(file)) await setTimeout(20)
  return {}
}
export const graph = new StateGraph(Annotation.Root({ file: Annotation() }))
  .addNode("wait", wait)
  .addEdge(START, "wait")
  .compile()
`,
  "agent.py": `
import asyncio
import os
from typing import TypedDict
from langgraph.graph import START, StateGraph

class State(TypedDict):
    file: str

async def wait(state: State):
    while not os.path.exists(state["file"]):
        await asyncio.sleep(0.02)

graph = StateGraph(State).add_node(wait).add_edge(START, "wait").compile()
`,
}

/** Starts a run that ends when `release` is called. */
async function startRun({ client }: AgentServerProcess, graph: string) {
  const file = join(temporaryFolder(), "go")
  const { thread_id } = await client.threads.create()
  const { run_id } = await client.runs.create(thread_id, graph, { input: { file } })
  const status = async () => (await client.runs.get(thread_id, run_id)).status as string
  const reaches = (wanted: string) =>
    until(async () => (await status()) === wanted, { what: `the run of ${graph} is ${wanted}`, timeoutMs: 60_000 })
  return { status, reaches, release: () => writeFileSync(file, "") }
}

test("while the workers of one language are full, runs of the other start", { skip: withoutPython }, async () => {
  const env = {
    SUPERSTEP_CONFIG: join(projectWith(files), "langgraph.json"),
    SUPERSTEP_PYTHON: testPython,
    N_JOBS_PER_WORKER: "1",
  }
  await using server = await startServerWithDatabase({ env })
  const start = (graph: string) => startRun(server, graph)
  const running = await start("javascript")
  await running.reaches("running")
  const waiting = [await start("javascript"), await start("javascript")]

  // It starts when it is created; the second one starts when it is claimed from the queue, behind older runs of the other language.
  const first = await start("python")
  await first.reaches("running")
  const second = await start("python")
  assert.equal(await second.status(), "pending")
  first.release()
  await second.reaches("running")

  assert.deepEqual(await Promise.all([running, ...waiting].map((run) => run.status())), [
    "running",
    "pending",
    "pending",
  ])
  for (const run of [running, ...waiting, second]) run.release()
  for (const run of [running, ...waiting, first, second]) await run.reaches("success")
})
