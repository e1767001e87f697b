import assert from "node:assert/strict"
import test from "node:test"
import { checkImports, layerOf } from "./check-imports.mjs"

const messages = (files) =>
  checkImports(
    Object.entries(files).map(([path, text]) => ({ path, text })),
    {},
  ).map(({ path, line, message }) => `${path}:${line} ${message}`)

const environment = "export const port = process.env.PORT\n"
const query = "export const all = () => sql`select 1`\n"
const planner = { "control/src/planner/plan.ts": "", "control/src/pipeline/stages.ts": "" }
const cycle = {
  "toolkit/src/a.ts": 'import "./b.js"\n',
  "toolkit/src/b.ts": 'export { c } from "./c.js"\n',
  "toolkit/src/c.ts": 'import type { A } from "./a.js"\n',
}
const reach = 'import { o } from "./operations.js"\nimport { s } from "@superstep/server/app"\n'
const use = "export const at = { socketPath: '/run/a', uid: 7 }\n"
const build = 'import "@superstep/builder/build"\n'
const machines = {
  "control/src/planner/unit.ts": `import { f } from "@superstep/machines/process/units/units"\n${use}`,
  "machines/src/process/units/units.ts": "export const f = { socketPath: '/run/a' }\n",
  "machines/src/process/builds.ts": build,
  "control/src/pipeline/stage.ts": `${build}import "@superstep/builder/faults/build-failed"\n`,
  "builder/src/build.ts": "",
  "builder/src/faults/build-failed.ts": "",
  "control/src/deployments/rules.ts": "export const source = 'external_docker' // not .dockerignore\n",
}

for (const [what, files, ...expected] of [
  [
    "the control plane cannot import the server",
    { "control/src/a.ts": 'import { x } from "@superstep/server/runs/run"\n' },
    /^control\/src\/a\.ts:1 control may import machines, builder, edge, oci, toolkit, protocol, and this imports server/,
  ],
  [
    "queries cannot import operations, over several lines and in another folder",
    {
      "server/src/runs/queries.ts": 'import {\n  a,\n  b,\n} from "../threads/operations.js"\n',
      "server/src/threads/operations.ts": "",
    },
    /^server\/src\/runs\/queries\.ts:4 queries may not import operations/,
  ],
  [
    "a model imports models only",
    {
      "server/src/runs/run.ts": 'import { t } from "../threads/thread.js"\nimport { q } from "../events/sse.js"\n',
      "server/src/threads/thread.ts": "",
      "server/src/events/sse.ts": "",
    },
    /run\.ts:2 a model imports nothing of its package but models, ports, error codes and tables of fields/,
  ],
  [
    "nothing imports main",
    { "edge/src/proxy.ts": 'import "./main.js"\n', "edge/src/main.ts": "" },
    /main\.ts is an entry point/,
  ],
  ["stages may use the planner", { ...planner, "control/src/pipeline/stage.ts": 'import "../planner/plan.js"\n' }],
  [
    "the planner may use no stage",
    { ...planner, "control/src/planner/queries.ts": 'import "../pipeline/stages.js"\n' },
    /the planner, which knows none of them/,
  ],
  ["operations do not read the environment", { "server/src/runs/operations.ts": environment }, /operations\.ts:1/],
  [
    "config.ts reads it, and main.ts may pass it on",
    { "server/src/config.ts": environment, "server/src/main.ts": environment },
  ],
  ["SQL stands not in operations", { "server/src/runs/operations.ts": query }, /operations\.ts:1/],
  [
    "SQL stands in queries and claims, and a word about it in a comment is no SQL",
    { "server/src/runs/claims.ts": query, "server/src/a.ts": "// use sql`…` there\n" },
  ],
  [
    "an error is rendered in one place",
    { "server/src/runs/routes.ts": 'return c.json({ detail: "no" }, 409)\n' },
    /http\/errors\.ts alone renders errors/,
  ],
  [
    "a cycle is told once, whichever file it is met from",
    cycle,
    /a\.ts → toolkit\/src\/b\.ts → toolkit\/src\/c\.ts → toolkit\/src\/a\.ts/,
  ],
  [
    "tests may reach across layers, but not across packages",
    { "control/src/runs/queries.test.ts": reach, "control/src/runs/operations.ts": "" },
    /imports server/,
  ],
  [
    "what depends on the kind of machine stays in machines/",
    machines,
    /stage\.ts:1 only start\.ts chooses a machine/,
    /unit\.ts:1 only start\.ts chooses a machine/,
    /unit\.ts:2 this depends on the kind of machine/,
  ],
  [
    "a table of fields imports formats and models only",
    {
      "control/src/revisions/source-config.ts":
        'import { a } from "../http/fields.js"\nimport { b } from "./queries.js"\n',
      "control/src/revisions/queries.ts": "",
      "control/src/http/fields.ts": "",
    },
    /source-config\.ts:2 a table of fields imports models/,
  ],
])
  test(what, () => {
    const found = messages(files)

    assert.equal(found.length, expected.length, found.join("\n"))
    for (const words of expected) assert.match(found.join("\n"), words)
  })

test("a layer is known by the file's name", () => {
  assert.equal(layerOf("server/src/runs/run.ts"), "model")
  assert.equal(layerOf("server/src/runs/create-operations.ts"), "operations")
  assert.equal(layerOf("control/src/planner/plan-main.ts"), "main")
  assert.equal(layerOf("server/src/runs/multitask.ts"), undefined)
})
