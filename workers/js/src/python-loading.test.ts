/** What a project may name as a graph in Python, and what its factories get. */
import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test } from "node:test"
import {
  interpreter,
  project,
  pythonGraphs,
  pythonOfFile,
  skip,
  startPythonWorker,
  worker,
} from "./testing/python-worker.js"

const openedFactories = ["opened", "grouped", "group_fails", "exit_fails"]
const factories = ["by_type", "by_place", "only_runtime", "with_default", "partly", "nothing", ...openedFactories]

const server = pythonOfFile(async (started) => {
  const specs = Object.fromEntries(factories.map((name) => [name, `./factories.py:${name}`]))
  const graphs = { ...specs, module: "parcel.agent:graph", file: "./parcel/agent.py:graph", builder: "simple:builder" }
  assert.deepEqual((await started.load(project, graphs)).failed, [])
})

const told = async (graphId: string, options: object = {}) =>
  Object((await server().run(graphId, { input: {}, ...options })).values).told

test("a Python graph is named by its file or by its module", { skip }, async () => {
  for (const graphId of ["module", "file"])
    assert.deepEqual((await server().run(graphId, { input: {} })).values, { name: "parcel" })
  assert.deepEqual((await server().run("builder", { input: { n: 1 } })).values, { n: 2 })
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
  await server().run("by_type", { thread_id, input: {} })
  const place = { graph_id: "by_type", thread_id, checkpoint_ns: "" }

  const { lines } = await server().call(
    { method: "graph.update_state", ...place },
    { config: "", supersteps: JSON.stringify([{ updates: [{ values: { told: 1 }, as_node: "report" }] }]) },
  )
  const state = await server().ask({ method: "graph.state", ...place, subgraphs: false })
  const drawing = await server().ask({ method: "graph.draw", graph_id: "by_type", xray: false })

  assert.deepEqual(JSON.parse(lines[0] ?? ""), { told: 1 })
  assert.deepEqual(Object(state).values.told[0].context, { model: "small" })
  assert.equal(Object(drawing).nodes.length, 3)
})

test("a context manager is open while its Python graph is used", { skip }, async () => {
  assert.deepEqual(await told("opened"), ["opened"])
  assert.ok((await server().output(1)).includes("opened closed"))
})

test("the task that entered a Python context manager leaves it, and an error of its exit is only logged", {
  skip,
}, async () => {
  assert.equal(await told("grouped"), "grouped")
  assert.equal(await told("exit_fails"), "exit_fails")
  assert.equal(await told("exit_fails"), "exit_fails")
  server().send({ type: "ping", nonce: "after exits" })

  await server().frame(({ header }) => header.type === "pong" && header.nonce === "after exits")
  assert.equal(
    server()
      .errors()
      .match(/LookupError: the exit failed/g)?.length,
    2,
  )
  assert.ok(!server().errors().includes("left in another task"))
})

test("a Python context manager that ends with an error while its graph runs fails the run", { skip }, async () => {
  const { status, error } = await server().run("group_fails", { input: {} })

  assert.deepEqual([status, error?.message], ["error", "a task of the group failed"])
})

test("graphs that do not load report what is missing, and where", { skip }, async () => {
  await using loading = await startPythonWorker()
  using folder = projectOf({
    "graph.py": "import nowhere_to_be_found\n",
    "broken.py": "x = 1\ny = (\n",
    "other.py": "graph = 1\n",
  })
  const specs = { a: "./graph.py:graph", b: "./broken.py:graph", c: "./other.py:graph", d: "./other.py:none" }
  const { failed } = await loading.load(folder.path, specs)

  const told = failed.map(({ error: { name, message, code_frame } }) => `${name}: ${message}\n${code_frame ?? ""}`)
  assert.match(told[0] ?? "", /^ModuleNotFoundError: No module named 'nowhere_to_be_found'\ngraph.py:1\n> 1 \| import/)
  assert.match(told[1] ?? "", /^SyntaxError: .*\nbroken.py:2\n/)
  assert.match(told[2] ?? "", /^TypeError: \.\/other\.py:graph is not a graph but a int/)
  assert.match(told[3] ?? "", /has no "none": it has graph/)
})

test("a variable that is not set is named, as is what else Python tells only by its class", { skip }, async () => {
  const sources = {
    environ: 'import os\nos.environ["model_key"]',
    other_key: 'places = {}\nplaces["HOME"]',
    silent: "assert 1 == 2",
    exit: "import sys\nsys.exit(3)",
    late: 'import os\ntry:\n    os.environ["A_KEY"]\nexcept KeyError:\n    raise ValueError("no key")',
  }
  const files = Object.fromEntries(Object.entries(sources).map(([name, text]) => [`${name}.py`, `${text}\n`]))
  const graphs = Object.fromEntries(Object.keys(sources).map((name) => [name, `./${name}.py:graph`]))
  using folder = projectOf(files, graphs)

  const failed = verifyPython(folder.path)

  const told = Object.fromEntries(Object.entries(failed).map(([name, { message }]) => [name, message]))
  assert.equal(failed.environ?.code_frame, 'environ.py:2\n  1 | import os\n> 2 | os.environ["model_key"]')
  assert.deepEqual(told, {
    environ: 'the environment variable "model_key" is not set',
    other_key: "KeyError: 'HOME'",
    silent: "AssertionError",
    exit: "the code ended the process while it was loading: sys.exit(3)",
    late: "no key",
  })
})

const hasSettings = !skip && spawnSync(interpreter, ["-c", "import pydantic_settings"]).status === 0

test("settings of pydantic name the variables that they lack", {
  skip: skip || (!hasSettings && "no pydantic-settings in SUPERSTEP_TEST_PYTHON"),
}, async () => {
  const graph = `from pydantic import BaseModel, Field
from pydantic_settings import BaseSettings, SettingsConfigDict
class Settings(BaseSettings):
    model_config = SettingsConfigDict(env_prefix="shop_")
    model_key: str
    other: str = Field(validation_alias="OTHER_KEY")
    size: int = 3
Settings()
`
  const model = "from pydantic import BaseModel\nclass Model(BaseModel):\n    model_key: str\nModel()\n"
  const graphs = { settings: "./graph.py:graph", model: "./model.py:graph" }
  using folder = projectOf({ "graph.py": graph, "model.py": model }, graphs)

  const { settings, model: other } = verifyPython(folder.path)

  assert.equal(
    settings?.message,
    'the environment variable "SHOP_MODEL_KEY" is not set, the environment variable "OTHER_KEY" is not set',
  )
  assert.match(other?.message ?? "", /^1 validation error for Model/)
})

interface Failed {
  readonly message: string
  readonly code_frame?: string
}

/** The graphs that do not load, as the build reads them. */
function verifyPython(folder: string): Readonly<Record<string, Failed>> {
  const run = spawnSync(interpreter, [join(worker, "verify.py"), join(folder, "langgraph.json")], { encoding: "utf8" })
  const { failed } = JSON.parse(run.stdout) as { failed: (Failed & { graph_id: string })[] }
  return Object.fromEntries(failed.map(({ graph_id, ...more }) => [graph_id, more]))
}

test("a Python without langgraph reports how to install it", { skip }, async () => {
  using folder = projectOf({})
  const bare = join(folder.path, "python")
  // Without its site module an interpreter finds no installed package.
  writeFileSync(bare, `#!/bin/sh\nexec "${interpreter}" -S "$@"\n`, { mode: 0o755 })
  await using loading = await startPythonWorker({ interpreter: bare })

  const { failed } = await loading.load(project, { builder: pythonGraphs.builder ?? "" })

  assert.match(
    failed[0]?.error.message ?? "",
    /does not have langgraph: add it to .*requirements\.txt.* install it with `\S+ -m pip install langgraph`/,
  )
})

/** A project of files whose code is Python. @param graphs  of its langgraph.json */
function projectOf(files: Readonly<Record<string, string>>, graphs: object = {}) {
  const path = mkdtempSync(join(tmpdir(), "python-"))
  const all = { ...files, "langgraph.json": JSON.stringify({ graphs }) }
  for (const [name, text] of Object.entries(all)) writeFileSync(join(path, name), text)
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true }) }
}

test("a warning names an SDK that gives a rule for one action to all actions of a resource (CVE-2026-104873)", {
  skip,
}, async () => {
  const module = "from langgraph_sdk import Auth\nauth = Auth()\n@auth.authenticate\nasync def anyone(): return 'ada'\n"
  using folder = projectOf({ "auth.py": module })
  const script = `
import asyncio, sys
import langgraph_sdk
from superstep_worker.gate.gate import Gate
header = {"project": sys.argv[1], "auth": "./auth.py:auth"}
class Old(langgraph_sdk.Auth):
    @property
    def on(self): return self
    @on.setter
    def on(self, _): ...
    def threads(self, *, actions=None):
        def register(rule):
            self._handlers[("threads", "*")] = [rule]
            return rule
        return register
if sys.argv[2] == "old": langgraph_sdk.Auth = Old
print(list(asyncio.run(Gate(sys.argv[1] + "/worker.sock", "w").load(header))))
`
  const load = (sdk: string) =>
    spawnSync(interpreter, ["-c", script, folder.path, sdk], { cwd: worker, encoding: "utf8" })

  const [present, old] = [load("present"), load("old")]

  assert.deepEqual([present.stdout, present.stderr, old.stdout], ["['auth']\n", "", "['auth']\n"])
  assert.match(
    old.stderr,
    /^WARNING: the installed langgraph_sdk ignores `actions=` .*Install a newer langgraph-sdk\n$/,
  )
})
