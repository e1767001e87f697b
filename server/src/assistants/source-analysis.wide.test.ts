/** Reading schemas from source code: when the reader runs, and what happens to sources that it cannot read. */
import assert from "node:assert/strict"
import { execFile } from "node:child_process"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { createLog, type Log } from "@superstep/toolkit/log/log"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { SourceAnalysis } from "./source-analysis.js"

// A minimal declaration of graph types. The compiler would need seconds for LangGraph's own.
const source = (field: string) => `
export declare const graph: { "~InputType": { ${field}?: string }; "~OutputType": { ${field}: string } }`

const graphs = { agent: "./graph.ts:graph", other: "./other.ts:graph", python: "./graph.py:graph" }

const missing = "./nowhere.ts:graph"

/** A project with a log that records its lines. @param more  graphs besides the usual ones */
function project({ timeoutMs = 600_000, keeps = false, more = {} } = {}) {
  const folder = temporaryFolder()
  const write = (field: string) => writeFileSync(join(folder, "graph.ts"), source(field))
  write("first")
  writeFileSync(join(folder, "other.ts"), source("first"))
  // The language's own declarations are not used here, and take a second to read.
  writeFileSync(join(folder, "tsconfig.json"), '{"compilerOptions":{"noLib":true}}')
  const said: string[] = []
  const keep = (_fields: object, phrase: string) => void said.push(phrase)
  const log = { ...createLog({ process: "server", level: "silent" }), info: keep, warn: keep } as unknown as Log
  const setting = { folder, graphs: { ...graphs, ...more } }
  /** A new analysis of the project. */
  const coldServer = () => new SourceAnalysis({ project: setting, timeoutMs, keeps, log })
  return { analysis: coldServer(), coldServer, said, write, setting, folder }
}

const fieldsOf = async (analysis: SourceAnalysis, graphId = "agent") => {
  const schemas = (await analysis.schemasOf(graphId))?.[""]
  return Object.keys(Object(Object(schemas?.input_schema).properties))
}

test("a source is read once for all callers, with those of the other graphs, until the project is reloaded", async () => {
  const { analysis, said, write, setting } = project()

  const asked = await Promise.all([fieldsOf(analysis), fieldsOf(analysis)])
  write("second")
  const later = await fieldsOf(analysis)
  analysis.reload(setting)
  const reloaded = await fieldsOf(analysis)

  assert.deepEqual([...asked, later], [["first"], ["first"], ["first"]])
  assert.deepEqual(reloaded, ["second"])
  const words = "read the schemas of graphs from their sources"
  assert.deepEqual(said, [words, words])

  const { analysis: asking, said: saidThen, write: change } = project()

  const first = await fieldsOf(asking, "other")
  change("second")

  assert.deepEqual([first, await fieldsOf(asking)], [["first"], ["first"]])
  assert.deepEqual(saidThen, ["read the schemas of graphs from their sources"])
})

test("when the reader fails on one graph, each is read alone", async () => {
  // Without an export.
  const { analysis } = project({ more: { broken: "./graph.ts" } })

  const answers = await Promise.all([fieldsOf(analysis, "broken"), fieldsOf(analysis), fieldsOf(analysis, "other")])

  assert.deepEqual(answers, [[], ["first"], ["first"]])
})

test("concurrent requests share one reader process, and an unreadable source does not affect the others", async () => {
  const { analysis, said } = project({ more: { missing } })

  const answers = await Promise.all([fieldsOf(analysis, "missing"), fieldsOf(analysis), fieldsOf(analysis, "other")])

  assert.deepEqual(answers, [[], ["first"], ["first"]])
  assert.deepEqual(said, [
    "read the schemas of graphs from their sources",
    "the schemas of a graph could not be read from its source",
  ])
})

test("a source that takes too long gives no answer, which is not the answer that it has no schemas", async () => {
  const { analysis, said } = project({ timeoutMs: 1 })

  assert.deepEqual([await analysis.schemasOf("agent"), await analysis.schemasOf("other")], [undefined, undefined])
  const words = "the schemas of a graph could not be read from its source"
  assert.deepEqual(said, [words, words])
})

test("a new server uses the results of an earlier one without starting the reader, until a source changes", async () => {
  const { analysis, coldServer, said, write } = project({ keeps: true })
  await fieldsOf(analysis)

  const kept = await fieldsOf(coldServer())
  const saidThen = [...said]
  write("second")
  const changed = await fieldsOf(coldServer())
  const keptAgain = await fieldsOf(coldServer())

  assert.deepEqual(kept, ["first"])
  assert.deepEqual(saidThen, ["read the schemas of graphs from their sources"])
  assert.deepEqual([changed, keptAgain], [["second"], ["second"]])
  assert.equal(said.length, 2)
})

test("a missing file is a dependency, too: when it appears, the source is read again", async () => {
  const { coldServer, said, folder } = project({ keeps: true })
  writeFileSync(join(folder, "graph.ts"), 'export { graph } from "./inner"\n')
  mkdirSync(join(folder, "inner"))
  writeFileSync(join(folder, "inner", "index.ts"), source("folder"))
  const before = await fieldsOf(coldServer())

  // The file has precedence over the folder of the same name.
  writeFileSync(join(folder, "inner.ts"), source("file"))
  const after = await fieldsOf(coldServer())

  assert.deepEqual([before, after], [["folder"], ["file"]])
  assert.equal(said.length, 2)
})

test("stored schemas of an artifact are used without starting the reader, also when they are stored later", async () => {
  const { coldServer, said, folder, write } = project({ more: { missing } })
  const server = coldServer()
  const before = await server.schemasOf("missing")
  said.length = 0
  writeFileSync(join(folder, "nowhere.ts"), source("late"))
  writeFileSync(join(folder, "langgraph.json"), JSON.stringify({ graphs: { agent: graphs.agent, missing } }))
  const reader = fileURLToPath(import.meta.resolve("@superstep/worker-js/analyse"))
  const argv = [reader, "--artifact", "--", join(folder, "langgraph.json")]
  const { stdout } = await promisify(execFile)(process.execPath, argv)
  mkdirSync(join(folder, ".superstep"))
  writeFileSync(join(folder, ".superstep", "schemas.json"), stdout)
  // Artifacts never change in practice. The change here shows that sources are not checked again.
  write("second")

  assert.equal(before, undefined)
  assert.deepEqual([await fieldsOf(server, "missing"), await fieldsOf(coldServer())], [["late"], ["first"]])
  assert.deepEqual(said, [])
})
