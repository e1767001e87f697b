/** Finding graphs in source files. The types are a small version of LangGraph's, so that the compiler has little to read. */
import assert from "node:assert/strict"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, before, test } from "node:test"
import { graphTypes } from "./source-graphs.js"
import { openProgram, type SourceProgram } from "./source-program.js"
import { schemasOf } from "./source-schemas.js"

const library = `
export interface Graph<S> {
  "~InputType": Partial<S>; "~OutputType": S; "~RunOutput": S
  invoke(input: unknown, options?: { context?: { model: string } }): Promise<S>
}
export declare class Builder<S> {
  constructor(state: S)
  addNode(name: string, node: unknown, options?: object): this
  addNode(nodes: object): this
  addEdge(from: string, to: string): this
  compile(): Graph<S>
}`

const other = `
import { Builder } from "./library"
const inner = new Builder({ inner: 1 }).addNode("leaf", () => 1).compile()
export const imported = new Builder({ imported: "x" }).addNode("deeper", inner).compile()`

const graphs = `
import { Builder, type Graph } from "./library"
import { imported } from "./other"
import * as all from "./other"
const one = new Builder({ one: 1 }).compile()
const two = new Builder({ two: 2 }).compile()

export const graph = new Builder({ top: 1 })
  .addNode("one", one).addNode("cast", (two as never)).addNode("imported", imported).addNode("fn", () => one.invoke(1))
  .addNode("inline", new Builder({ inline: 1 }).addNode("one", one).compile())
  .compile()

const builder = new Builder({ named: 1 }).addNode("one", one)
builder.addNode({ two, renamed: imported })
builder.addNode("listed", () => 1, { subgraphs: [one] })
export { builder }
export default builder.compile()

export async function factory(config: object): Promise<Graph<{ made: boolean }>> {
  const made = new Builder({ made: true }).addNode("one", one)
  return made.compile()
}
export const later = Promise.resolve(graph)
export const wrapped = { graph, name: "agent" }
export const again = imported
export const nothing = 7
export const loop: Graph<{ x: 1 }> = new Builder({ x: 1 as const }).addNode("self", loop).compile()`

let folder: string
let program: SourceProgram
before(() => {
  folder = mkdtempSync(join(tmpdir(), "superstep-sources-"))
  for (const [name, text] of Object.entries({ library, other, graphs })) writeFileSync(join(folder, `${name}.ts`), text)
  program = openProgram(join(folder, "graphs.ts"))
})
after(() => rmSync(folder, { recursive: true }))

const namespaces = (name: string) => graphTypes(program, name).map(({ namespace }) => namespace)
const fieldOf = (name: string, at: string) => {
  const found = graphTypes(program, name).find(({ namespace }) => namespace === at)
  assert.ok(found, at)
  return Object.keys(Object(Object(schemasOf(program, found.type).state_schema).properties))
}

test("graphs that are nodes are found, in this file and in others, at any depth", () => {
  assert.deepEqual(namespaces("graph"), ["", "one", "cast", "imported", "imported|deeper", "inline", "inline|one"])
  assert.deepEqual(fieldOf("graph", ""), ["top"])
  assert.deepEqual(fieldOf("graph", "cast"), ["two"])
  assert.deepEqual(fieldOf("graph", "imported|deeper"), ["inner"])
})

test("a named builder is tracked through its file", () => {
  const found = ["", "listed", "one", "renamed", "renamed|deeper", "two"]

  assert.deepEqual(namespaces("default").sort(), found)
  assert.deepEqual(namespaces("builder").sort(), found)
  assert.deepEqual(fieldOf("builder", "renamed"), ["imported"])
})

test("factories, promises, wrappers and other names of a graph are resolved", () => {
  assert.deepEqual(fieldOf("factory", ""), ["made"])
  assert.deepEqual(namespaces("factory"), ["", "one"])
  assert.deepEqual(fieldOf("later", ""), ["top"])
  assert.deepEqual(fieldOf("wrapped", ""), ["top"])
  assert.deepEqual(fieldOf("again", "deeper"), ["inner"])
})

test("a value that is not a graph, or is missing, gives nothing, and a recursive graph terminates", () => {
  assert.deepEqual(namespaces("nothing"), [])
  assert.deepEqual(namespaces("missing"), [])
  assert.ok(namespaces("loop").length < 20)
})

test("the context schema is the option `context`", () => {
  const [found] = graphTypes(program, "graph")
  assert.ok(found)

  assert.deepEqual(schemasOf(program, found.type).context_schema, {
    $schema: "http://json-schema.org/draft-07/schema#",
    type: "object",
    properties: { model: { type: "string" } },
  })
})
