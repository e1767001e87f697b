/** What a project may name as a graph in Python, and what its factories get. */
import assert from "node:assert/strict"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, before, test } from "node:test"
import type { FakeServer } from "./testing/fake-server.js"
import { interpreter, project, pythonGraphs, skip, startPythonWorker } from "./testing/python-worker.js"

const factories = ["by_type", "by_place", "only_runtime", "opened", "with_default", "partly", "nothing"]

let server: FakeServer
before(async () => {
  if (skip) return
  server = await startPythonWorker()
  const specs = Object.fromEntries(factories.map((name) => [name, `./factories.py:${name}`]))
  const graphs = { ...specs, module: "parcel.agent:graph", file: "./parcel/agent.py:graph", builder: "simple:builder" }
  assert.deepEqual((await server.load(project, graphs)).failed, [])
})
after(async () => {
  if (!skip) await server[Symbol.asyncDispose]()
})

const told = async (graphId: string, options: object = {}) =>
  Object((await server.run(graphId, { input: {}, ...options })).values).told

test("a Python graph is named by its file or by its module", { skip }, async () => {
  for (const graphId of ["module", "file"])
    assert.deepEqual((await server.run(graphId, { input: {} })).values, { name: "parcel" })
  assert.deepEqual((await server.run("builder", { input: { n: 1 } })).values, { n: 2 })
})

test("a Python factory gets config and runtime by type, by name or by place", { skip }, async () => {
  const user = { identity: "ada", permissions: ["agents"] }
  const config = { configurable: { langgraph_auth_user: user } }
  const runtime = { access: "threads.create_run", user: "ada", store: true, context: { model: "large" } }

  assert.deepEqual(await told("by_type", { config, context: { model: "large" } }), [runtime, "by_type"])
  assert.deepEqual(await told("by_place"), ["threads.create_run", "by_place"])
  assert.equal(await told("only_runtime"), "threads.create_run")
  assert.deepEqual([await told("with_default"), await told("partly"), await told("nothing")], [3, 4, "nothing"])
})

test("a Python factory gets the purpose of each use", { skip }, async () => {
  const thread_id = crypto.randomUUID()
  await server.run("by_type", { thread_id, input: {} })
  const place = { graph_id: "by_type", thread_id, checkpoint_ns: "" }

  const { lines } = await server.call(
    { method: "graph.update_state", ...place },
    { config: "", supersteps: JSON.stringify([{ updates: [{ values: { told: 1 }, as_node: "report" }] }]) },
  )
  const state = await server.ask({ method: "graph.state", ...place, subgraphs: false })
  const drawing = await server.ask({ method: "graph.draw", graph_id: "by_type", xray: false })

  assert.deepEqual(JSON.parse(lines[0] ?? ""), { told: 1 })
  assert.deepEqual(Object(state).values.told[0].context, { model: "small" })
  assert.equal(Object(drawing).nodes.length, 3)
})

test("a context manager is open while its Python graph is used", { skip }, async () => {
  assert.deepEqual(await told("opened"), ["opened"])
  assert.ok((await server.output(1)).includes("opened closed"))
})

test("graphs that do not load report what is missing, and where", { skip }, async () => {
  await using loading = await startPythonWorker()
  await using folder = temporaryFolder()
  const write = (name: string, text: string) => writeFileSync(join(folder.path, name), text)
  write("graph.py", "import nowhere_to_be_found\n")
  write("broken.py", "x = 1\ny = (\n")
  write("other.py", "graph = 1\n")

  const specs = { a: "./graph.py:graph", b: "./broken.py:graph", c: "./other.py:graph", d: "./other.py:none" }
  const { failed } = await loading.load(folder.path, specs)

  const told = failed.map(({ error: { name, message, code_frame } }) => `${name}: ${message}\n${code_frame ?? ""}`)
  assert.match(told[0] ?? "", /^ModuleNotFoundError: No module named 'nowhere_to_be_found'\ngraph.py:1\n> 1 \| import/)
  assert.match(told[1] ?? "", /^SyntaxError: .*\nbroken.py:2\n/)
  assert.match(told[2] ?? "", /^TypeError: \.\/other\.py:graph is not a graph but a int/)
  assert.match(told[3] ?? "", /has no "none": it has graph/)
})

test("a Python without langgraph reports how to install it", { skip }, async () => {
  await using folder = temporaryFolder()
  const bare = join(folder.path, "python")
  // Without its site module an interpreter finds no installed package.
  writeFileSync(bare, `#!/bin/sh\nexec "${interpreter}" -S "$@"\n`, { mode: 0o755 })
  await using loading = await startPythonWorker({ interpreter: bare })

  const { failed } = await loading.load(project, { builder: pythonGraphs.builder ?? "" })

  assert.match(
    failed[0]?.error.message ?? "",
    /does not have langgraph: install it with `\S+ -m pip install langgraph`/,
  )
})

function temporaryFolder(): AsyncDisposable & { readonly path: string } {
  const path = mkdtempSync(join(tmpdir(), "python-"))
  return { path, [Symbol.asyncDispose]: async () => rmSync(path, { recursive: true }) }
}
