/** Agents of PyPI's `langchain` with scripted models, as people write them. */
import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import { test } from "node:test"
import { interpreter, project, pythonOfFile } from "./testing/python-worker.js"

const hasLangChain = interpreter !== "" && spawnSync(interpreter, ["-c", "import langchain.agents"]).status === 0
const skip = !hasLangChain && "no Python with langchain: .ci/run installs it and sets SUPERSTEP_TEST_PYTHON"

const server = pythonOfFile(async (started) => {
  const graphs = { team: "agents:team", essay: "agents:essay" }
  assert.deepEqual((await started.load(project, graphs)).failed, [])
}, skip)

const input = { messages: [{ role: "user", content: "go" }] }

test("an agent hands its conversation to another one in the parent graph", { skip }, async () => {
  const { status, values, events, error } = await server().run("team", {
    input,
    stream_modes: ["updates"],
    stream_subgraphs: true,
  })

  assert.deepEqual([error, status], [undefined, "success"])
  assert.equal(Object(values).messages.at(-1).name, "bob")
  assert.ok(events.some(({ event }) => event.startsWith("updates|bob:")))
})

test("a functional agent repeats no finished task, and remembers its last result", { skip }, async () => {
  const thread_id = crypto.randomUUID()
  const write = async (topic: string) => {
    await server().run("essay", { thread_id, input: topic })
    return (await server().run("essay", { thread_id, command: { resume: "good" } })).values
  }

  assert.deepEqual(await write("tea"), { text: "on tea, try 1", review: "good", before: null })
  assert.deepEqual(await write("rain"), { text: "on rain, try 1", review: "good", before: "on tea, try 1" })
})
