/** Reading schemas out of sources: when the program runs, and what becomes of a source that it cannot read. */
import assert from "node:assert/strict"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { createLog, type Log } from "@superstep/toolkit/log/log"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { SourceAnalysis } from "./source-analysis.js"

// The members by which a graph's types are known; LangGraph's own would take the compiler seconds.
const source = (field: string) => `
export declare const graph: { "~InputType": { ${field}?: string }; "~OutputType": { ${field}: string } }`

const graphs = {
  agent: "./graph.ts:graph",
  other: "./graph.ts:graph",
  missing: "./nowhere.ts:graph",
  python: "./graph.py:graph",
}

/** A project with a log that keeps what is said. */
function project(timeoutMs = 600_000) {
  const folder = temporaryFolder()
  const write = (field: string) => writeFileSync(join(folder, "graph.ts"), source(field))
  write("first")
  const said: string[] = []
  const keep = (_fields: object, phrase: string) => void said.push(phrase)
  const log = { ...createLog({ process: "server", level: "silent" }), info: keep, warn: keep } as unknown as Log
  const setting = { folder, graphs }
  const analysis = new SourceAnalysis({ project: setting, timeoutMs, log })
  return { analysis, said, write, setting }
}

const fieldsOf = async (analysis: SourceAnalysis, graphId = "agent") => {
  const { "": schemas } = await analysis.schemasOf(graphId)
  return Object.keys(Object(Object(schemas?.input_schema).properties))
}

test("a source is read once, whoever asks, until the project is loaded again", async () => {
  const { analysis, said, write, setting } = project()

  const asked = await Promise.all([fieldsOf(analysis), fieldsOf(analysis)])
  write("second")
  const later = await fieldsOf(analysis)
  analysis.reload(setting)
  const reloaded = await fieldsOf(analysis)

  assert.deepEqual([...asked, later], [["first"], ["first"], ["first"]])
  assert.deepEqual(reloaded, ["second"])
  assert.deepEqual(said, ["read the sources of graphs", "read the sources of graphs"])
})

test("what is asked for together is read by one program, and a source that cannot be read keeps nobody back", async () => {
  const { analysis, said } = project()

  const answers = await Promise.all([fieldsOf(analysis, "missing"), fieldsOf(analysis), fieldsOf(analysis, "other")])

  assert.deepEqual(answers, [[], ["first"], ["first"]])
  assert.deepEqual(said, ["read the sources of graphs", "a graph's source tells no schemas"])
})

test("a source that cannot be read tells nothing, and may be asked again", async () => {
  const { analysis, said } = project()

  assert.deepEqual(await analysis.schemasOf("missing"), {})
  assert.deepEqual(await analysis.schemasOf("missing"), {})
  const once = ["read the sources of graphs", "a graph's source tells no schemas"]
  assert.deepEqual(said, [...once, ...once])
})

test("a source that takes too long tells nothing", async () => {
  const { analysis, said } = project(1)

  assert.deepEqual(await analysis.schemasOf("agent"), {})
  assert.deepEqual(said, ["a graph's source tells no schemas"])
})

test("no program is started for Python, for graphs that are not there, or once the server stops", async () => {
  const { analysis, said } = project()

  assert.deepEqual(await analysis.schemasOf("python"), {})
  assert.deepEqual(await analysis.schemasOf("nobody"), {})
  await analysis.close()
  assert.deepEqual(await analysis.schemasOf("agent"), {})
  assert.deepEqual(said, [])
})
