import assert from "node:assert/strict"
import { readdirSync, readFileSync } from "node:fs"
import { test } from "node:test"
import { frameTypes, pythonHeaderFields } from "./generate.js"
import { problems } from "./schema.js"

const worker = new URL("../../worker/", import.meta.url)

test("the types match the schema", () => {
  const committed = readFileSync(new URL("../../src/worker/frames.ts", import.meta.url), "utf8")

  assert.equal(compact(frameTypes()), compact(committed), "run: npm run generate -w protocol")
})

test("the Python worker checks the fields that the schema requires", () => {
  const python = new URL("../../../workers/python/superstep_worker/header_fields.py", import.meta.url)

  assert.equal(readFileSync(python, "utf8"), pythonHeaderFields(), "run: npm run generate -w protocol")
})

test("the schema and the protocol's README list the same frames", () => {
  const page = readFileSync(new URL("README.md", worker), "utf8")
  const schema = readFileSync(new URL("frames.schema.json", worker), "utf8")
  const kinds = [...schema.matchAll(/"(?:type|method)": \{\s*"const": "([\w.]+)"/g)].map(([, kind]) => kind)

  assert.deepEqual(
    kinds.filter((kind) => !page.includes(`\`${kind}\``)),
    [],
  )
  const told = [...page.matchAll(/^\| `([a-z._]+)`(?:, `([a-z]+)`)? +\|/gm)].flatMap(([, ...names]) =>
    names.filter(Boolean),
  )
  assert.deepEqual(
    told.filter((name) => !kinds.includes(name)),
    [],
  )
})

test("every line of the fixtures is a valid frame of its side after filling its placeholders", () => {
  const folder = new URL("fixtures/", worker)
  for (const name of readdirSync(folder).filter((each) => each.endsWith(".jsonl"))) {
    for (const line of readFileSync(new URL(name, folder), "utf8").trimEnd().split("\n")) {
      const { from, any_order, ...frame } = JSON.parse(line)
      for (const { header, payload } of any_order ?? [frame]) {
        // One line calls an unknown method on purpose.
        if (header.method === "graph.dance") continue

        const side = from === "server" ? "ServerFrame" : "WorkerFrame"
        assert.deepEqual(problems(side, filled(header)), [], `${name}: ${line}`)
        assert.equal(payload.length, (header.payload ?? []).length, `${name}: ${line}`)
      }
    }
  }
})

test("an error about a frame names the invalid field", () => {
  const cancel = { type: "cancel", run_id: "r1", claim_id: "c1" }

  assert.deepEqual(problems("ServerFrame", { ...cancel, unknown: 1 }), [])
  assert.deepEqual(problems("ServerFrame", { ...cancel, run_id: 1 }), ["frame.run_id: expected string"])
  assert.deepEqual(problems("ServerFrame", { type: "cancel" }), [
    "frame.run_id: is missing",
    "frame.claim_id: is missing",
  ])
  assert.deepEqual(problems("ServerFrame", { type: "nonsense" }), ["frame: is none of the known kinds"])
  const failure = { type: "failure", call_id: "1", error: { error: "ClaimLost" } }
  assert.deepEqual(problems("ServerFrame", failure), ["frame.error.message: is missing"])
})

/** Removes formatting, which is not compared. */
function compact(source: string): string {
  return source.replaceAll(/\s+/g, "").replaceAll(/([=(:])\|/g, "$1")
}

function filled(value: unknown): unknown {
  if (value === "<pid>") return 1
  if (typeof value === "string" && (value === "<>" || value.startsWith("<blobs"))) return []
  if (Array.isArray(value)) return value.map(filled)
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [
      key,
      key === "message" || key === "error" ? textual(each) : filled(each),
    ]),
  )
}

function textual(value: unknown): unknown {
  return typeof value === "string" ? value : filled(value)
}
