/** Projects in Python as deployments: installed, verified, served, and refused with a sentence. */
import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { once } from "node:events"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { unlessLong } from "@superstep/toolkit/testing/wide-tests"
import { WebSocket } from "ws"
import { clientOf, type Deployment, deploy, deploymentOf, startRevision, untilEnded } from "./testing/deployments.js"
import { startPlatform } from "./testing/platform.js"
import { createRepository } from "./testing/repository.js"
import { lockWithUv, pyproject } from "./testing/uv-lock.js"

const python = process.env.SUPERSTEP_TEST_PYTHON ?? ""
const skip = python === "" && "no Python with langgraph: .ci/run installs it and sets SUPERSTEP_TEST_PYTHON"

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
  "requirements.txt": "langgraph==1.2.24\n",
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
      const wrong = await revise({ "requirements.txt": "langgraph==1.2.24\nno-such-package-of-superstep==9\n" })
      const broken = await revise({
        "requirements.txt": "langgraph==1.2.24\n",
        "agent.py": "import nothing_of_the_kind\n",
      })
      const version = await revise({
        "langgraph.json": JSON.stringify({ python_version: "3.99", graphs: { agent: "./agent.py:graph" } }),
      })

      assert.deepEqual([wrong.error_code, broken.error_code], ["install_failed", "module_missing"])
      assert.match(wrong.status_message ?? "", /no-such-package-of-superstep/)
      assert.match(broken.status_message ?? "", /graph "agent" does not load: No module named 'nothing_of_the_kind'/)
      assert.equal(version.error_code, "python_unsupported")
      assert.match(version.status_message ?? "", /"python_version" is 3\.99, and this machine has 3\./)
      assert.deepEqual(await ask("agent"), { text: "two hello sk-1" }, "the revision before serves on")
    },
  )
})

const users = join(import.meta.dirname, "../../examples/python-users")

test("the example with a FastAPI app and access rules is deployed, and its users see what is their own", {
  skip: skip || unlessLong("guarded-deployment.wide.test.ts and app-sockets.test.ts have its parts"),
}, async () => {
  await using platform = await startPlatform()
  const repository = await createRepository()
  const names = ["langgraph.json", "graph.py", "rules.py", "routes.py"]
  const files = Object.fromEntries(names.map((name) => [name, readFileSync(join(users, name), "utf8")]))
  const socket = `
from fastapi import WebSocket

@app.websocket("/echo")
async def echo(websocket: WebSocket) -> None:
    await websocket.accept()
    await websocket.send_text(f"{websocket.user.identity}: {await websocket.receive_text()}")
    await websocket.close(4000, "done")
`
  files["routes.py"] += socket
  await repository.push({ ...files, "requirements.txt": "langgraph==1.2.24\nfastapi==0.165.0\n" })
  const deployment = await deploy(platform, "users", repository.url, [], "installed")
  const key = { "x-api-key": platform.credentials.api_key, "content-type": "application/json" }
  const ask = async (path: string, user: string | undefined, body?: object) => {
    const headers = { ...key, ...(user && { authorization: `Bearer token-of-${user}` }) }
    const init = body ? { method: "POST", body: JSON.stringify(body), headers } : { headers }
    const response = await fetch(`${deployment.source_config.custom_url}${path}`, init)
    return { status: response.status, body: await response.json() }
  }

  const created = await ask("/threads", "ada", {})
  const { thread_id } = created.body as { thread_id: string }
  const run = { assistant_id: "notes", input: { messages: [{ role: "user", content: "remember the milk" }] } }
  const answer = await ask(`/threads/${thread_id}/runs/wait`, "ada", run)

  assert.equal(created.status, 200)
  assert.match(JSON.stringify(answer), /I will remember: the milk/)
  assert.deepEqual(await ask("/notes", "ada"), { status: 200, body: { user: "ada", notes: ["the milk"] } })
  assert.deepEqual(await ask("/notes", "bob"), { status: 200, body: { user: "bob", notes: [] } })
  assert.equal((await ask("/notes", undefined)).status, 401)
  assert.equal((await ask(`/threads/${thread_id}`, "ada")).status, 200)
  assert.equal((await ask(`/threads/${thread_id}`, "bob")).status, 404)
  assert.equal((await ask(`/threads/${thread_id}/runs/wait`, "bob", run)).status, 404)
  assert.equal((await ask("/store/items/search", "bob", { namespace_prefix: ["ada"] })).status, 403)
  const path = `${deployment.source_config.custom_url.replace("http", "ws")}/echo`
  const echoing = new WebSocket(path, { headers: { ...key, authorization: "Bearer token-of-ada" } })
  const [message, closed] = [once(echoing, "message"), once(echoing, "close")]
  echoing.once("open", () => echoing.send("x".repeat(100_000)))
  assert.equal(String((await message)[0]), `ada: ${"x".repeat(100_000)}`)
  assert.deepEqual((await closed).map(String), ["4000", "done"])
  const [, refused] = await once(new WebSocket(path, { headers: key }), "unexpected-response")
  assert.equal(refused.statusCode, 401)
  refused.destroy()
})

test("a project with a lock file of uv is installed as it says", { skip }, async () => {
  const repository = await createRepository()
  const files = { ...project("locked"), "pyproject.toml": pyproject(["langgraph==1.2.24"]), "requirements.txt": "" }
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
