import assert from "node:assert/strict"
import { readdirSync, readFileSync } from "node:fs"
import { test } from "node:test"
import { problemOf } from "./validate.js"
import { serverCalls, serverFrames, workerCalls, workerFrames } from "./validators.js"

const worker = new URL("../../worker/", import.meta.url)

test("the schema and the protocol's README list the same frames", () => {
  const page = readFileSync(new URL("README.md", worker), "utf8")
  const schema = readFileSync(new URL("frames.schema.json", worker), "utf8")
  const kinds = [...schema.matchAll(/"(?:type|method)": \{\s*"const": "([\w.]+)"/g)].map(([, kind]) => kind)

  const missing = kinds.filter((kind) => !page.includes(`\`${kind}\``))
  assert.deepEqual(missing, [])
  const told = [...page.matchAll(/^\| `([a-z._]+)`(?:, `([a-z]+)`)? +\|/gm)].flatMap(([, ...names]) =>
    names.filter(Boolean),
  )
  const unknown = told.filter((name) => !kinds.includes(name))
  assert.deepEqual(unknown, [])
})

test("every line of the fixtures is a valid frame of its side after filling its placeholders", () => {
  const folder = new URL("fixtures/", worker)
  for (const name of readdirSync(folder).filter((each) => each.endsWith(".jsonl"))) {
    for (const line of readFileSync(new URL(name, folder), "utf8").trimEnd().split("\n")) {
      const { from, any_order, ...frame } = JSON.parse(line)
      for (const { header, payload } of any_order ?? [frame]) {
        // One line calls an unknown method on purpose.
        if (header.method === "graph.dance") continue

        const [frames, calls] = from === "server" ? [serverFrames, serverCalls] : [workerFrames, workerCalls]
        const full = filled(header) as Record<string, unknown>
        assert.equal(problemOf(frames, "type", full), undefined, `${name}: ${line}`)
        if (full.type === "call") assert.equal(problemOf(calls, "method", full), undefined, `${name}: ${line}`)
        assert.equal(payload.length, (header.payload ?? []).length, `${name}: ${line}`)
      }
    }
  }
})

test("an error about a frame names the invalid field", () => {
  const cancel = { type: "cancel", run_id: "r1", claim_id: "c1" }
  const problem = (header: Record<string, unknown>) => problemOf(serverFrames, "type", header)

  assert.equal(problem({ ...cancel, unknown: 1 }), undefined)
  assert.equal(problem({ ...cancel, run_id: 1 }), "frame/run_id must be string")
  assert.equal(problem({ type: "cancel" }), "frame must have required property 'run_id'")
  assert.match(problem({ type: "nonsense" }) ?? "", /^frame\/type must be one of load, run, cancel,/)
  assert.match(problem({ type: "constructor" }) ?? "", /^frame\/type must be one of/)
  const failure = { type: "failure", call_id: "1", error: { error: "ClaimLost" } }
  assert.equal(problem(failure), "frame/error must have required property 'message'")
})

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
