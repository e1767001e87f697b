/** Projects in Python as deployments: installed, verified, served, and refused with a sentence. */
import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { runsWideTests } from "@superstep/toolkit/testing/wide-tests"
import { clientOf, type Deployment, deploy, deploymentOf, startRevision, untilEnded } from "./testing/deployments.js"
import { startPlatform } from "./testing/platform.js"
import { createRepository } from "./testing/repository.js"
import { lockWithUv, pyproject } from "./testing/uv-lock.js"

const python = process.env.SUPERSTEP_TEST_PYTHON ?? ""
const skip =
  (!runsWideTests && "installs packages of PyPI: SUPERSTEP_WIDE_TESTS=1") ||
  (python === "" && "no Python with langgraph: .ci/run installs it and sets SUPERSTEP_TEST_PYTHON")

const agent = (word: string) => `
import os
from typing import TypedDict
from langgraph.graph import START, StateGraph
from helpers.words import greeting

class State(TypedDict):
    text: str

def answer(state: State) -> State:
    return {"text": f"${word} {greeting()} {os.environ['MODEL_KEY']}"}

graph = StateGraph(State).add_node("answer", answer).add_edge(START, "answer").compile()
`
const project = (word: string) => ({
  "langgraph.json": JSON.stringify({ dependencies: ["."], graphs: { agent: "./agent.py:graph" } }),
  "requirements.txt": "langgraph==1.2.22\n",
  "agent.py": agent(word),
  "helpers/__init__.py": "",
  "helpers/words.py": "def greeting() -> str:\n    return 'hello'\n",
})
const secrets = [{ name: "MODEL_KEY", value: "sk-1" }]

test("a Python project is deployed, answers, and is replaced; what cannot be installed says why", {
  skip,
}, async (t) => {
  await using platform = await startPlatform()
  const repository = await createRepository()
  await repository.push(project("one"))
  const deployment = await deploy(platform, "py", repository.url, secrets, "installed")
  const ask = async (graph: string) => {
    const client = clientOf(platform, deployment)
    return (await client.runs.wait(null, graph, { input: { text: "" } })) as { text: string }
  }
  const revise = async (files: Readonly<Record<string, string>>) => {
    await repository.push(files)
    return untilEnded(platform, deployment.id, await startRevision(platform, deployment.id))
  }

  await t.test("its graph answers with its secret and its own modules", async () => {
    assert.deepEqual(await ask("agent"), { text: "one hello sk-1" })
  })

  await t.test("a push replaces it", async () => {
    const { status, status_message } = await revise({ "agent.py": agent("two") })

    assert.equal(status, "DEPLOYED", status_message ?? "")
    assert.deepEqual(await ask("agent"), { text: "two hello sk-1" })
  })

  await t.test("a project of both languages serves both", async () => {
    const graphs = { agent: "./agent.py:graph", script: "./src/ticks.ts:graph" }
    const { status, status_message } = await revise({
      "langgraph.json": JSON.stringify({ dependencies: ["."], graphs }),
    })

    assert.equal(status, "DEPLOYED", status_message ?? "")
    const client = clientOf(platform, deployment)
    const found = await client.assistants.search()
    assert.deepEqual(found.map(({ graph_id }) => graph_id).toSorted(), ["agent", "script"])
    assert.deepEqual(await ask("agent"), { text: "two hello sk-1" })
  })

  await t.test(
    "a package that does not exist, a graph that does not load, and a Python that is not there",
    async () => {
      const wrong = await revise({ "requirements.txt": "langgraph==1.2.22\nno-such-package-of-superstep==9\n" })
      const broken = await revise({
        "requirements.txt": "langgraph==1.2.22\n",
        "agent.py": "import nothing_of_the_kind\n",
      })
      const version = await revise({
        "langgraph.json": JSON.stringify({ python_version: "3.99", graphs: { agent: "./agent.py:graph" } }),
      })

      assert.deepEqual([wrong.error_code, broken.error_code], ["install_failed", "graph_load_failed"])
      assert.match(wrong.status_message ?? "", /no-such-package-of-superstep/)
      assert.match(broken.status_message ?? "", /graph "agent" does not load: No module named 'nothing_of_the_kind'/)
      assert.equal(version.error_code, "python_unsupported")
      assert.match(version.status_message ?? "", /"python_version" is 3\.99, and this machine has 3\./)
      assert.deepEqual(await ask("agent"), { text: "two hello sk-1" }, "the revision before serves on")
    },
  )
})

const guarded = {
  ...project("guarded"),
  "langgraph.json": JSON.stringify({
    dependencies: ["."],
    graphs: { agent: "./agent.py:graph" },
    auth: { path: "./rules.py:auth" },
    http: { app: "./routes.py:app", enable_custom_route_auth: true },
  }),
  "requirements.txt": "langgraph==1.2.22\nfastapi==0.165.0\n",
  "rules.py": `
from langgraph_sdk import Auth

auth = Auth()

@auth.authenticate
async def authenticate(authorization: str | None) -> str:
    name = (authorization or "").removeprefix("Bearer ")
    if not name:
        raise Auth.exceptions.HTTPException(status_code=401, detail="Who are you?")
    return name

@auth.on.threads
async def own(ctx, value):
    value["metadata"] = {**(value.get("metadata") or {}), "owner": ctx.user.identity}
    return {"owner": ctx.user.identity}
`,
  "routes.py": `
from fastapi import FastAPI, Request
from helpers.words import greeting

app = FastAPI()

@app.get("/custom/greeting")
async def greet(request: Request):
    return {"text": f"{greeting()} {request.user.identity}"}
`,
}

test("a project with a FastAPI app and access rules is deployed, and its users see what is their own", {
  skip,
}, async () => {
  await using platform = await startPlatform()
  const repository = await createRepository()
  await repository.push(guarded)
  const deployment = await deploy(platform, "guarded-py", repository.url, secrets, "installed")
  const key = { "x-api-key": platform.credentials.api_key, "content-type": "application/json" }
  const ask = async (path: string, user: string | undefined, body?: object) => {
    const headers = { ...key, ...(user && { authorization: `Bearer ${user}` }) }
    const init = body ? { method: "POST", body: JSON.stringify(body), headers } : { headers }
    const response = await fetch(`${deployment.source_config.custom_url}${path}`, init)
    return { status: response.status, body: await response.json() }
  }

  const created = await ask("/threads", "ada", {})
  const { thread_id } = created.body as { thread_id: string }

  assert.deepEqual(await ask("/custom/greeting", "ada"), { status: 200, body: { text: "hello ada" } })
  assert.equal((await ask("/custom/greeting", undefined)).status, 401)
  assert.equal(created.status, 200)
  assert.equal((await ask(`/threads/${thread_id}`, "ada")).status, 200)
  assert.equal((await ask(`/threads/${thread_id}`, "bob")).status, 404)
  const run = { assistant_id: "agent", input: { text: "" } }
  assert.equal((await ask(`/threads/${thread_id}/runs/wait`, "bob", run)).status, 404)
  const answer = await ask(`/threads/${thread_id}/runs/wait`, "ada", run)
  assert.deepEqual(answer, { status: 200, body: { text: "guarded hello sk-1" } })
})

test("a project with a lock file of uv is installed as it says", { skip }, async () => {
  const repository = await createRepository()
  const files = { ...project("locked"), "pyproject.toml": pyproject(["langgraph==1.2.22"]), "requirements.txt": "" }
  await repository.push(files)
  const lock = temporaryFolder()
  execFileSync("git", ["clone", "--quiet", repository.url, lock])
  lockWithUv(lock)
  await repository.push({ "uv.lock": readFileSync(join(lock, "uv.lock"), "utf8") })
  await using platform = await startPlatform()

  const created = await platform.api<Deployment>("POST", "/v2/deployments", {
    ...deploymentOf("locked", repository.url, "installed"),
    secrets,
  })
  const revision = await untilEnded(platform, created.body.id, created.body.latest_revision_id)

  assert.equal(revision.status, "DEPLOYED", revision.status_message ?? "")
  const { body } = await platform.api<Deployment>("GET", `/v2/deployments/${created.body.id}`)
  const answer = await clientOf(platform, body).runs.wait(null, "agent", { input: { text: "" } })
  assert.deepEqual(answer, { text: "locked hello sk-1" })
})
