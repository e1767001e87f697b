import assert from "node:assert/strict"
import { execFile } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type TestContext, test } from "node:test"
import { fileURLToPath } from "node:url"
import { graphsFolder, langgraphVersion } from "./testing/worker.js"

const verifyMain = fileURLToPath(import.meta.resolve("@superstep/worker-js/verify"))

interface Report {
  readonly graphs: string[]
  readonly failed: { readonly graph_id: string; readonly message: string; readonly code_frame?: string }[]
  readonly langgraph_version?: string
  readonly lacks_schemas?: boolean
}

test("all graphs of the test project load, for every way of exporting one", async () => {
  const { code, report } = await verify(`${graphsFolder}langgraph.json`)

  assert.deepEqual(report.failed, [])
  assert.equal(code, 0)
  assert.equal(report.langgraph_version, langgraphVersion)
  const exported = ["chat", "factory", "wrapped", "builder", "promise", "commonjs"]
  const missing = exported.filter((graphId) => !report.graphs.includes(graphId))
  assert.deepEqual(missing, [])
})

test("each graph that fails shows its place or what there is instead, and prevents no other from loading", async (t) => {
  const folder = project(t, {
    "syntax.ts": "const a = 1\nexport const graph = {\n  channels: ,\n}\n",
    "throws.ts":
      'interface Wanted { name: string }\n\nconst wanted: Wanted | undefined = undefined\nthrow new Error("no settings")\n',
    "lacks-package.ts": 'import { readFile } from "node:fs"\nimport { x } from "not-installed"\nx(readFile)\n',
    "lacks-file.ts": 'import { x } from "./not-here.js"\nx()\n',
    "graph.ts": "export const agent = 1\nexport default 2\n",
  })
  const graphs = {
    syntax: "./syntax.ts:graph",
    throws: "./throws.ts:graph",
    "lacks-package": "./lacks-package.ts:graph",
    "lacks-file": "./lacks-file.ts:graph",
    mistyped: "./grpah.ts:agent",
    elsewhere: "./src/graph.ts:agent",
    "other-export": "./graph.ts:graph",
    number: "./graph.ts:agent",
    "verified-by-another-program": "./graph.py:graph",
    good: `${graphsFolder}src/chat.ts:graph`,
  }
  writeFileSync(join(folder, "langgraph.json"), JSON.stringify({ graphs }))

  const { code, report } = await verify(join(folder, "langgraph.json"))

  assert.equal(code, 1)
  assert.deepEqual(report.graphs, ["good"])
  const failed = (graphId: string) => report.failed.find(({ graph_id }) => graph_id === graphId)
  const messageOf = (graphId: string) => failed(graphId)?.message ?? ""
  const frameOf = (graphId: string) => failed(graphId)?.code_frame ?? ""
  assert.match(messageOf("syntax"), /Unexpected ","/)
  const lines = ["  1 | const a = 1", "  2 | export const graph = {", "> 3 |   channels: ,", "    |             ^"]
  assert.equal(frameOf("syntax"), ["syntax.ts:3:13", ...lines, "  4 | }", "  5 |"].join("\n"))
  assert.equal(messageOf("throws"), "no settings")
  assert.match(frameOf("throws"), /^throws\.ts:4:7\n[\s\S]*> 4 \| throw new Error/)
  assert.match(messageOf("lacks-package"), /Cannot find package 'not-installed'/)
  assert.match(frameOf("lacks-package"), /^lacks-package\.ts:2:19\n/)
  assert.match(frameOf("lacks-file"), /^lacks-file\.ts:1:19\n/)
  assert.match(messageOf("mistyped"), /^no such file: grpah\.ts; its folder has .*\bgraph\.ts/)
  assert.equal(messageOf("elsewhere"), "no such file: src/graph.ts; its folder does not exist either")
  assert.equal(messageOf("other-export"), './graph.ts has no export "graph": it exports agent, default')
  assert.equal(messageOf("number"), "./graph.ts:agent is not a graph but a number")
  assert.equal(report.failed.length, Object.keys(graphs).length - 2)
})

test("a graph without the name of an export is reported", async (t) => {
  const { report } = await verifyGraph(t, "export default 2\n", "./graph.ts")

  assert.match(report.failed[0]?.message ?? "", /must be a path and an export/)
})

test("output of user code is not part of the report, and the report can go to a file", async (t) => {
  const folder = project(t, {
    "graph.ts": "console.log('noise')\nprocess.stdout.write('more')\nexport const graph = 1\n",
  })
  writeFileSync(join(folder, "langgraph.json"), JSON.stringify({ graphs: { g: "./graph.ts:graph" } }))
  const result = join(folder, "result.json")

  const { stdout } = await run([join(folder, "langgraph.json")])
  const toFile = await run([join(folder, "langgraph.json"), result])

  assert.equal(JSON.parse(stdout).failed[0].graph_id, "g")
  assert.equal(toFile.stdout, "")
  assert.equal(readFileSync(result, "utf8"), stdout)
})

for (const [what, source, message] of [
  ["code that ends the process", "process.exit(0)\n", 'the code of graph "g" ended the process while it was loading'],
  [
    "a top-level await that never settles",
    "await new Promise(() => {})\nexport const graph = 1\n",
    'graph "g" does not finish loading: its module has a top-level await that never settles',
  ],
] as const)
  test(`${what} is reported`, async (t) => {
    const { code, report } = await verifyGraph(t, source)

    assert.deepEqual([code, report.failed], [1, [{ graph_id: "g", message }]])
  })

test("the report says whether some graph does not provide its schemas", async (t) => {
  // In the graphs' own folder, where their packages are found.
  const folder = mkdtempSync(join(graphsFolder, "verify-"))
  t.after(() => rmSync(folder, { recursive: true }))
  const lacks = async (graphs: Readonly<Record<string, string>>) => {
    writeFileSync(join(folder, "langgraph.json"), JSON.stringify({ graphs }))
    return (await verify(join(folder, "langgraph.json"))).report.lacks_schemas
  }
  const [annotations, zod] = ["../src/slow.ts:graph", "../src/schemas.ts:registered"]

  assert.equal(await lacks({ annotations, zod }), true)
  assert.equal(await lacks({ zod }), false)
})

test("an invalid langgraph.json is reported with the reason", async (t) => {
  const folder = project(t, { "langgraph.json": "{", "empty.json": "{}" })

  const broken = await verify(join(folder, "langgraph.json"))
  const empty = await verify(join(folder, "empty.json"))

  assert.equal(broken.code, 1)
  assert.match(broken.report.failed[0]?.message ?? "", /langgraph\.json is not JSON/)
  assert.match(empty.report.failed[0]?.message ?? "", /names no graphs/)
})

function verifyGraph(t: TestContext, source: string, spec = "./graph.ts:graph") {
  const folder = project(t, { "graph.ts": source, "langgraph.json": JSON.stringify({ graphs: { g: spec } }) })
  return verify(join(folder, "langgraph.json"))
}

/** A folder outside the repository, so that it has no packages. */
function project(t: TestContext, files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), "verify-"))
  t.after(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, "package.json"), '{"type":"module"}')
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  return folder
}

async function verify(config: string): Promise<{ code: number; report: Report }> {
  const { code, stdout } = await run([config])
  return { code, report: JSON.parse(stdout) }
}

function run(args: readonly string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, [verifyMain, ...args], (error, stdout, stderr) => {
      resolve({ code: typeof error?.code === "number" ? error.code : 0, stdout, stderr })
    })
  })
}
