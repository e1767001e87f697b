/** The examples behave as their READMEs describe. Their packages are resolved from the repository's. */
import assert from "node:assert/strict"
import { before, test } from "node:test"
import { readGraphs } from "./loading/langgraph-json.js"
import { FakeServer } from "./testing/fake-server.js"
import { skip, startPythonWorker } from "./testing/python-worker.js"
import { workerMain } from "./testing/worker.js"

before(() => {
  process.env.CHAT_PAUSE_MS = "0"
  process.env.APPROVAL_PAUSE_MS = "0"
})

for (const [name, skipped] of [
  ["chat", false],
  ["python-chat", skip],
] as const) {
  test(`${name} streams word by word and remembers its thread`, { skip: skipped }, async () => {
    await using server = await startExample(name)
    const thread_id = crypto.randomUUID()

    const first = await server.run("chat", {
      thread_id,
      input: said("My name is Ada."),
      stream_modes: ["messages-tuple"],
    })
    const second = await server.run("chat", { thread_id, input: said("Who am I?") })
    const stranger = await server.run("chat", { input: said("Who am I?") })

    const text = first.events.map(({ data }) => Object(data)[0].content).join("")
    assert.ok(first.events.length > 10)
    assert.match(text, /^Nice to meet you, Ada!/)
    assert.equal(text, lastContent(first.values))
    assert.match(lastContent(second.values), /You are Ada/)
    assert.match(lastContent(stranger.values), /You have not told me yet/)
  })
}

for (const [name, skipped] of [
  ["approval", false],
  ["python-approval", skip],
] as const) {
  test(`${name} pays nothing before a person approves`, { skip: skipped }, async () => {
    await using server = await startExample(name)
    const ask = (thread_id: string) =>
      server.run("approval", {
        thread_id,
        input: said("Please refund order 1042."),
        stream_modes: ["updates"],
        stream_subgraphs: true,
      })
    const ends = async (resume: unknown) => {
      const thread_id = crypto.randomUUID()
      const { status, events } = await ask(thread_id)
      assert.equal(status, "interrupted")
      const [question] = Object(events.at(-1)?.data).__interrupt__
      assert.deepEqual(question.value, { question: "Refund 49 euros?", order_id: "1042", amount: 49 })
      const { values } = await server.run("approval", { thread_id, command: { resume } })
      return lastContent(values)
    }

    assert.match(await ends(true), /^49 euros went back/)
    assert.match(await ends({ approved: true, amount: 20 }), /^20 euros went back/)
    assert.match(await ends(false), /^A person declined the refund/)
  })
}

async function startExample(name: string): Promise<FakeServer> {
  const language = name.startsWith("python-") ? "python" : "javascript"
  const file = new URL(`../../../examples/${name}/langgraph.json`, import.meta.url).pathname
  const { project, graphs } = readGraphs(file, language)
  const server = language === "python" ? await startPythonWorker() : await FakeServer.start(workerMain)
  const { failed } = await server.load(project, graphs)
  assert.deepEqual(failed, [])
  return server
}

function said(content: string): object {
  return { messages: [{ role: "user", content }] }
}

function lastContent(values: unknown): string {
  return Object(values).messages.at(-1).content
}
