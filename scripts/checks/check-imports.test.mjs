import assert from "node:assert/strict"
import test from "node:test"
import { checkImports, layerOf } from "./check-imports.mjs"

const messages = (...files) =>
  checkImports(
    files.map(([path, text]) => ({ path, text })),
    {},
  ).map(({ path, line, message }) => `${path}:${line} ${message}`)

test("the control plane cannot import the server", () => {
  const found = messages(["control/src/a.ts", 'import { x } from "@superstep/server/runs/run"\n'])

  assert.equal(found.length, 1)
  assert.match(
    found[0],
    /^control\/src\/a\.ts:1 control may import machines, builder, edge, oci, toolkit, protocol, and this imports server/,
  )
})

test("queries cannot import operations, over several lines and in another folder", () => {
  const found = messages(
    ["server/src/runs/queries.ts", 'import {\n  a,\n  b,\n} from "../threads/operations.js"\n'],
    ["server/src/threads/operations.ts", ""],
  )

  assert.equal(found.length, 1)
  assert.match(found[0], /^server\/src\/runs\/queries\.ts:4 queries may not import operations/)
})

test("a model imports models only", () => {
  const found = messages(
    ["server/src/runs/run.ts", 'import { t } from "../threads/thread.js"\nimport { q } from "../events/sse.js"\n'],
    ["server/src/threads/thread.ts", ""],
    ["server/src/events/sse.ts", ""],
  )

  assert.equal(found.length, 1)
  assert.match(
    found[0],
    /run\.ts:2 a model imports nothing of its package but models, ports, error codes and tables of fields/,
  )
})

test("nothing imports main", () => {
  const found = messages(["edge/src/proxy.ts", 'import "./main.js"\n'], ["edge/src/main.ts", ""])

  assert.match(found.join("\n"), /main\.ts is an entry point/)
})

test("stages may use the planner, and the planner no stage", () => {
  const stage = ["control/src/pipeline/stage.ts", 'import "../planner/plan.js"\n']
  const planner = ["control/src/planner/queries.ts", 'import "../pipeline/stages.js"\n']
  const others = [
    ["control/src/planner/plan.ts", ""],
    ["control/src/pipeline/stages.ts", ""],
  ]

  assert.deepEqual(messages(stage, ...others), [])
  assert.match(messages(planner, ...others).join("\n"), /the planner, which knows none of them/)
})

test("the environment is read in config.ts alone, and main.ts may pass it on", () => {
  const text = "export const port = process.env.PORT\n"

  assert.equal(messages(["server/src/runs/operations.ts", text]).length, 1)
  assert.deepEqual(messages(["server/src/config.ts", text], ["server/src/main.ts", text]), [])
})

test("SQL stands in queries and claims, and a word about it in a comment is no SQL", () => {
  const text = "export const all = () => sql`select 1`\n"

  assert.equal(messages(["server/src/runs/operations.ts", text]).length, 1)
  assert.deepEqual(messages(["server/src/runs/claims.ts", text], ["server/src/a.ts", "// use sql`…` there\n"]), [])
})

test("an error is rendered in one place", () => {
  const found = messages(["server/src/runs/routes.ts", 'return c.json({ detail: "no" }, 409)\n'])

  assert.match(found.join(), /http\/errors\.ts alone renders errors/)
})

test("a cycle is told once, whichever file it is met from", () => {
  const found = messages(
    ["toolkit/src/a.ts", 'import "./b.js"\n'],
    ["toolkit/src/b.ts", 'export { c } from "./c.js"\n'],
    ["toolkit/src/c.ts", 'import type { A } from "./a.js"\n'],
  )

  assert.equal(found.length, 1)
  assert.match(found[0], /a\.ts → toolkit\/src\/b\.ts → toolkit\/src\/c\.ts → toolkit\/src\/a\.ts/)
})

test("tests may reach across layers, but not across packages", () => {
  const reach = 'import { o } from "./operations.js"\nimport { s } from "@superstep/server/app"\n'

  const found = messages(["control/src/runs/queries.test.ts", reach], ["control/src/runs/operations.ts", ""])

  assert.equal(found.length, 1)
  assert.match(found[0], /imports server/)
})

test("a layer is known by the file's name", () => {
  assert.equal(layerOf("server/src/runs/run.ts"), "model")
  assert.equal(layerOf("server/src/runs/create-operations.ts"), "operations")
  assert.equal(layerOf("control/src/planner/plan-main.ts"), "main")
  assert.equal(layerOf("server/src/runs/multitask.ts"), undefined)
})

test("what depends on the kind of machine stays in machines/", () => {
  const use = "export const at = { socketPath: '/run/a', uid: 7 }\n"

  const found = messages(
    ["control/src/planner/unit.ts", `import { f } from "@superstep/machines/process/units/units"\n${use}`],
    ["machines/src/process/units/units.ts", "export const f = { socketPath: '/run/a' }\n"],
    ["machines/src/process/builds.ts", 'import "@superstep/builder/build"\n'],
    [
      "control/src/pipeline/stage.ts",
      'import "@superstep/builder/build"\nimport "@superstep/builder/faults/build-failed"\n',
    ],
    ["builder/src/build.ts", ""],
    ["builder/src/faults/build-failed.ts", ""],
    ["control/src/deployments/rules.ts", "export const source = 'external_docker' // not .dockerignore\n"],
  )

  assert.equal(found.length, 3)
  assert.match(found.join("\n"), /stage\.ts:1 only start\.ts chooses a machine/)
  assert.match(found.join("\n"), /unit\.ts:1 only start\.ts chooses a machine/)
  assert.match(found.join("\n"), /unit\.ts:2 this depends on the kind of machine/)
})

test("a table of fields imports formats and models only", () => {
  const found = messages(
    [
      "control/src/revisions/source-config.ts",
      'import { a } from "../http/fields.js"\nimport { b } from "./queries.js"\n',
    ],
    ["control/src/revisions/queries.ts", ""],
    ["control/src/http/fields.ts", ""],
  )

  assert.equal(found.length, 1)
  assert.match(found[0], /source-config\.ts:2 a table of fields imports models/)
})
