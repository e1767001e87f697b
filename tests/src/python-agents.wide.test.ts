/** Agents of PyPI's `langchain`, with scripted models, as the official client sees them. */
import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import { test } from "node:test"
import { fileURLToPath } from "node:url"
import type { Interrupt } from "@langchain/langgraph-sdk"
import { startServerWithDatabase } from "./testing/agent-servers.js"
import { testPython } from "./testing/languages.js"

const hasLangChain = testPython !== "" && spawnSync(testPython, ["-c", "import langchain.agents"]).status === 0
const skip = !hasLangChain && "no Python with langchain: .ci/run installs it and sets SUPERSTEP_TEST_PYTHON"

const config = fileURLToPath(new URL("../../workers/python/testing/graphs/agents.json", import.meta.url))
const env = { SUPERSTEP_CONFIG: config, SUPERSTEP_PYTHON: testPython }
const input = { messages: [{ role: "user", content: "go" }] }

interface State {
  readonly messages: readonly { readonly content: string; readonly name?: string }[]
}

test("agents in Python ask, hand over and remember", { skip }, async (t) => {
  await using server = await startServerWithDatabase({ env })
  const { client } = server

  await t.test("two tools of create_agent ask at once, and get their answers by id, one after the other", async () => {
    const { thread_id } = await client.threads.create()
    const questions = async () => {
      const { status, interrupts } = await client.threads.get(thread_id)
      const open = Object.values(interrupts ?? {}).flat() as Interrupt<{ approve: number }>[]
      return { status, open: open.toSorted((a, b) => (a.value?.approve ?? 0) - (b.value?.approve ?? 0)) }
    }

    await client.runs.wait(thread_id, "approving", { input })
    const asked = await questions()
    const [one, two] = asked.open.map(({ id }) => String(id))
    await client.runs.wait(thread_id, "approving", { command: { resume: { [two ?? ""]: "no" } } })
    const between = await questions()
    const end = (await client.runs.wait(thread_id, "approving", {
      command: { resume: { [one ?? ""]: "yes" } },
    })) as unknown as State

    assert.deepEqual(
      [asked.status, asked.open.map(({ value }) => value)],
      ["interrupted", [{ approve: 1 }, { approve: 2 }]],
    )
    assert.deepEqual([between.status, between.open.map(({ id }) => id)], ["interrupted", [one]])
    assert.equal(end.messages.at(-1)?.content, "1: yes, 2: no")
    assert.equal((await client.threads.get(thread_id)).status, "idle")
  })

  await t.test("an agent hands its conversation to another one, whose updates have their namespace", async () => {
    const { thread_id } = await client.threads.create()
    const names: string[] = []

    const stream = client.runs.stream(thread_id, "team", { input, streamMode: "updates", streamSubgraphs: true })
    for await (const { event } of stream) names.push(event)

    const { values } = await client.threads.getState<State>(thread_id)
    assert.ok(
      names.some((name) => name.startsWith("updates|bob:")),
      `${names}`,
    )
    assert.equal(values.messages.at(-1)?.name, "bob")
  })

  await t.test("a functional agent repeats no finished task, and remembers its last result", async () => {
    const { thread_id } = await client.threads.create()
    const write = async (topic: string) => {
      await client.runs.wait(thread_id, "essay", { input: topic as unknown as Record<string, unknown> })
      return client.runs.wait(thread_id, "essay", { command: { resume: "good" } })
    }

    assert.deepEqual(await write("tea"), { text: "on tea, try 1", review: "good", before: null })
    assert.deepEqual(await write("rain"), { text: "on rain, try 1", review: "good", before: "on tea, try 1" })
  })
})
