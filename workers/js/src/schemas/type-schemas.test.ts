/** JSON Schemas of TypeScript types. */
import assert from "node:assert/strict"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test } from "node:test"
import { openProgram } from "./source-program.js"
import { TypeSchemas } from "./type-schemas.js"

/** The schema of the type `T` that a source declares. */
function schemaOf(source: string): Record<string, unknown> {
  const folder = mkdtempSync(join(tmpdir(), "superstep-types-"))
  try {
    writeFileSync(join(folder, "types.ts"), `${source}\nexport declare const value: T\n`)
    const program = openProgram(join(folder, "types.ts"))
    const module = program.checker.getSymbolAtLocation(program.source)
    const value = module && program.checker.getExportsOfModule(module).find(({ name }) => name === "value")
    assert.ok(value)
    const { $schema, ...schema } = new TypeSchemas(program).schema(program.checker.getTypeOfSymbol(value))
    assert.equal($schema, "http://json-schema.org/draft-07/schema#")
    return schema
  } finally {
    rmSync(folder, { recursive: true })
  }
}

const propertiesOf = (source: string) => schemaOf(`type T = { ${source} }`).properties

test("plain types, literals and unions", () => {
  assert.deepEqual(
    propertiesOf(`a: string; b: number | null; c: boolean; d: "x" | "y"; e: 1 | "one"; f?: string; g: true; h: unknown
      i: string | number[]; j: bigint; k: null; l: boolean | string; m: \`id-\${string}\`; n: string | undefined`),
    {
      a: { type: "string" },
      b: { anyOf: [{ type: "null" }, { type: "number" }] },
      c: { type: "boolean" },
      d: { type: "string", enum: ["x", "y"] },
      e: { type: ["number", "string"], enum: [1, "one"] },
      f: { type: "string" },
      g: { const: true },
      h: {},
      i: { anyOf: [{ type: "string" }, { type: "array", items: { type: "number" } }] },
      j: { type: "integer" },
      k: { type: "null" },
      l: { anyOf: [{ type: "boolean" }, { type: "string" }] },
      m: { type: "string" },
      n: { type: "string" },
    },
  )
})

test("lists, records, dates and types without JSON", () => {
  assert.deepEqual(
    propertiesOf(`a: readonly string[]; b: [number, string]; c: { [key: string]: number }; d: Date; e: () => void
      f: Map<string, number>; g: { x: 1 } & { y?: string }; h: object; i: never[]; [Symbol.iterator](): never`),
    {
      a: { type: "array", items: { type: "string" } },
      b: { type: "array", items: [{ type: "number" }, { type: "string" }], minItems: 2 },
      c: { type: "object", additionalProperties: { type: "number" } },
      d: { type: "string", format: "date-time" },
      e: {},
      f: {},
      g: { type: "object", properties: { x: { type: "number", enum: [1] }, y: { type: "string" } }, required: ["x"] },
      h: { type: "object" },
      i: { type: "array", items: {} },
    },
  )
})

test("a named type is defined once, also when it is recursive", () => {
  const { properties, definitions } = schemaOf(`
    interface Tree {
      /** What it is called. */
      name: string
      children: Tree[]
      parent?: Tree
    }
    type T = { left: Tree; right: Tree }`)

  assert.deepEqual(properties, { left: { $ref: "#/definitions/Tree" }, right: { $ref: "#/definitions/Tree" } })
  assert.deepEqual(definitions, {
    Tree: {
      type: "object",
      properties: {
        name: { type: "string", description: "What it is called." },
        children: { type: "array", items: { $ref: "#/definitions/Tree" } },
        parent: { $ref: "#/definitions/Tree" },
      },
      required: ["name", "children"],
    },
  })
})

test("types with the same name are distinguished, and infinite types terminate", () => {
  const { definitions } = schemaOf(`
    interface Box<V> { v: V }
    interface Nest<V> { inner?: Nest<Box<V>> }
    type T = { a: Box<string>; b: Box<number>; nest: Nest<string> }`)

  const told = Object(definitions)
  assert.deepEqual(told.Box.properties, { v: { type: "string" } })
  assert.deepEqual(told.Box2.properties, { v: { type: "number" } })
  assert.ok(Object.keys(told).length < 50)
})

test("messages have the schema of messages, for every class and notation", () => {
  const { properties, definitions } = schemaOf(`
    declare abstract class BaseMessage { content: string; toDict(): object }
    declare class AIMessage extends BaseMessage { tool_calls: object[] }
    type Like = BaseMessage | [string, string] | string
    type T = { list: BaseMessage[]; some: AIMessage[]; likes: Like | Like[]; one: AIMessage }`)

  const list = { type: "array", items: { $ref: "#/definitions/BaseMessage" }, langgraph_type: "messages" }
  assert.deepEqual(properties, { list, some: list, likes: list, one: { $ref: "#/definitions/BaseMessage" } })
  assert.deepEqual(Object.keys(Object(definitions)), ["BaseMessage"])
})
