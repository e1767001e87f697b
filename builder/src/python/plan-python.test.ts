import assert from "node:assert/strict"
import { mkdirSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import test from "node:test"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { BuildFailed } from "../faults/build-failed.js"
import { planBuild } from "../plan.js"
import { readProjectFacts } from "../project/project-facts.js"
import { choosePython } from "./choose-python.js"
import { readPythonFacts } from "./python-facts.js"

function tree(files: Readonly<Record<string, string>>): string {
  const folder = temporaryFolder()
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  return folder
}

const config = (fields: object = {}) => JSON.stringify({ graphs: { a: "./agent.py:graph" }, ...fields })

/** The steps as lines `folder: command`. */
async function stepsOf(
  files: Readonly<Record<string, string>>,
  { configPath = "langgraph.json", tools = [] as string[], installCommand = null as string | null } = {},
): Promise<string[]> {
  const root = tree({ [join(dirname(configPath), "agent.py")]: "", ...files })
  const facts = await readProjectFacts(root, configPath)
  assert.ok(facts.config.python)
  const python = await readPythonFacts(root, configPath, facts.config.python)
  const folder = dirname(configPath) === "." ? "" : dirname(configPath)
  const project = { config: facts.config.python, facts: python, program: "/usr/bin/python3.12", folder }
  const { steps } = planBuild(facts, { installCommand, buildCommand: null }, new Set(tools), project)
  return steps.map((step) => `${step.folder || "."}: ${step.argv.join(" ")}`)
}

test("requirements and packages of the project are installed into an environment beside langgraph.json", async () => {
  const files = { "langgraph.json": config({ dependencies: [".", "./lib", "langchain-openai>=1"] }) }
  const manifests = { "requirements.txt": "langgraph", "lib/pyproject.toml": "", "lib/requirements.txt": "" }

  const [own = "", ...more] = await stepsOf({ ...files, ...manifests })
  assert.match(
    own,
    / install \/usr\/bin\/python3\.12 -r requirements\.txt -r lib\/requirements\.txt -e \.\/lib langchain/,
  )
  assert.deepEqual(more, [])
  assert.deepEqual(await stepsOf({ ...files, ...manifests }, { tools: ["uv"] }), [
    ".: uv venv --python /usr/bin/python3.12 .venv",
    ".: uv pip install --python .venv/bin/python -r requirements.txt -r lib/requirements.txt -e ./lib langchain-openai>=1",
  ])
})

test("a project that asks for pip, or has its own settings of pip, gets pip", async () => {
  const asked = { "langgraph.json": config({ pip_installer: "pip" }), "requirements.txt": "" }
  const settings = { "langgraph.json": config({ pip_config_file: "pip.conf" }), "requirements.txt": "" }

  assert.match((await stepsOf(asked, { tools: ["uv"] })).join("\n"), /\.venv\/bin\/python -m pip install -r/)
  assert.match((await stepsOf(settings, { tools: ["uv"] }))[1] ?? "", /^\.: env PIP_CONFIG_FILE=pip\.conf \.venv/)
})

test("a lock file of uv is followed, from the folder that has it, and without uv on the machine too", async () => {
  const files = { "apps/agent/langgraph.json": config(), "uv.lock": "", "pyproject.toml": "" }
  const configPath = "apps/agent/langgraph.json"
  const source = { kind: "uv", root: "../..", package: "agent" }

  assert.deepEqual(await stepsOf(files, { configPath, tools: ["uv"] }), [
    ".: env UV_PROJECT_ENVIRONMENT=apps/agent/.venv uv sync --frozen --no-dev --python /usr/bin/python3.12",
  ])
  const named = { ...files, "apps/agent/langgraph.json": config({ source }) }
  assert.match((await stepsOf(named, { configPath, tools: ["uv"] })).join(), /--package agent$/)
  const [own = ""] = await stepsOf(files, { configPath })
  assert.match(own, /pip install --quiet uv==[\s\S]*uv \/usr\/bin\/python3\.12 sync --frozen/)
})

test("a project of both languages installs both, and its own command runs in the environment", async () => {
  const files = {
    "langgraph.json": config({ graphs: { a: "./agent.py:graph", b: "./b.ts:graph" } }),
    "b.ts": "",
    "package.json": "{}",
    "requirements.txt": "",
  }
  const steps = await stepsOf(files, { tools: ["npm", "uv"] })
  const own = await stepsOf(files, { tools: ["npm"], installCommand: "make install" })

  const begins = steps.map((line) => line.split(" ").slice(0, 3).join(" "))
  assert.deepEqual(begins, [".: uv venv", ".: uv pip", ".: npm install"])
  assert.equal(own.length, 2)
  assert.match(own[1] ?? "", /^\.: env VENV=\.venv sh -c .*PATH="\$PWD\/\$VENV\/bin:\$PATH".* make install$/)
})

test("what is no dependency is refused before anything runs", async () => {
  for (const [dependency, words] of [
    ["--index-url=https://evil.example", /an option and not a package/],
    ["../other", /outside of the repository/],
  ] as const)
    await assert.rejects(stepsOf({ "langgraph.json": config({ dependencies: [dependency] }) }), (error) => {
      assert.ok(error instanceof BuildFailed)
      assert.equal(error.code, "config_invalid")
      assert.match(error.message, words)
      return true
    })
})

test("the Python is the one that is asked for, else the newest", () => {
  const found = ["3.9.2", "3.11.7", "3.13.1", "3.12.4"].map((version) => ({ version, path: `/${version}` }))

  assert.equal(choosePython(undefined, found).version, "3.13.1")
  assert.equal(choosePython("3.11", found).version, "3.11.7")
  assert.equal(choosePython("3.12.4", found).version, "3.12.4")
  assert.throws(() => choosePython("3.1", found), /"python_version" is 3\.1, and this machine has 3\.13\.1, 3\.12\.4/)
  assert.throws(
    () => choosePython(undefined, found.slice(0, 1)),
    /need Python 3\.10 or newer, and this machine has none/,
  )
})
