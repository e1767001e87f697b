import assert from "node:assert/strict"
import { readdirSync, readFileSync } from "node:fs"
import { test } from "node:test"
import { frameTypes } from "./generate.js"
import { problems } from "./schema.js"

const worker = new URL("../../worker/", import.meta.url)

test("the types are those that the schema describes", () => {
  const committed = readFileSync(new URL("../../src/worker/frames.ts", import.meta.url), "utf8")

  assert.equal(compact(frameTypes()), compact(committed), "run: npm run generate -w protocol")
})

test("the schema names each frame of the protocol's page, and the page each frame of the schema", () => {
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

test("every line of the fixtures is a frame of its side, once its placeholders are filled", () => {
  const folder = new URL("fixtures/", worker)
  for (const name of readdirSync(folder).filter((each) => each.endsWith(".jsonl"))) {
    for (const line of readFileSync(new URL(name, folder), "utf8").trimEnd().split("\n")) {
      const { from, any_order, ...frame } = JSON.parse(line)
      for (const { header, payload } of any_order ?? [frame]) {
        // One line asks on purpose for a method that no worker has.
        if (header.method === "graph.dance") continue

        const side = from === "server" ? "ServerFrame" : "WorkerFrame"
        assert.deepEqual(problems(side, filled(header)), [], `${name}: ${line}`)
        assert.equal(payload.length, (header.payload ?? []).length, `${name}: ${line}`)
      }
    }
  }
})

test("what is wrong with a frame is told with its place", () => {
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

/** Formatting is the formatter's matter. */
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
