/** An agent server with graphs in Python: to the official client they are graphs like any other. */

import assert from "node:assert/strict"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { fileURLToPath } from "node:url"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { until } from "@superstep/toolkit/testing/until"
import { startServerWithDatabase } from "./testing/agent-servers.js"

const python = process.env.SUPERSTEP_TEST_PYTHON ?? ""
const skip = python === "" && "no Python with langgraph: .ci/run installs it and sets SUPERSTEP_TEST_PYTHON"

const config = fileURLToPath(new URL("../../workers/python/testing/graphs/langgraph.json", import.meta.url))
const env = { SUPERSTEP_CONFIG: config, SUPERSTEP_PYTHON: python }

interface Chunk {
  readonly event: string
  // biome-ignore lint/suspicious/noExplicitAny: what a chunk holds is what each test asserts
  readonly data: any
}

async function collect(stream: AsyncIterable<unknown>): Promise<Chunk[]> {
  const chunks: Chunk[] = []
  for await (const chunk of stream) chunks.push(chunk as Chunk)
  return chunks
}

const dataOf = (chunks: readonly Chunk[], event: string) =>
  chunks.filter((chunk) => chunk.event === event).map(({ data }) => data)

test("a conversation with a Python graph", { skip }, async (t) => {
  await using server = await startServerWithDatabase({ env })
  const { client } = server

  await t.test("streams its words and its values, and is remembered", async () => {
    const { thread_id } = await client.threads.create()
    const input = { messages: [{ role: "user", content: "hi" }] }

    const chunks = await collect(
      client.runs.stream(thread_id, "chat", { input, streamMode: ["values", "messages-tuple"] }),
    )
    await client.runs.wait(thread_id, "chat", { input })

    const words = dataOf(chunks, "messages").map(([message]) => message.content)
    assert.ok(words.length > 1)
    assert.equal(words.join(""), "Hello there")
    const contents = (messages: { content: string }[]) => messages.map(({ content }) => content)
    assert.deepEqual(
      dataOf(chunks, "values").map(({ messages }) => contents(messages)),
      [["hi"], ["hi", "Hello there"]],
    )
    assert.equal(dataOf(chunks, "end")[0]?.status, "success")
    const { values } = await client.threads.getState<{ messages: { content: string }[] }>(thread_id)
    assert.deepEqual(contents(values.messages), ["hi", "Hello there", "hi", "Hello there"])
    assert.ok((await client.threads.getHistory(thread_id)).length >= 4)
  })

  await t.test("waits for a person, whose `false` reaches the node", async () => {
    const { thread_id } = await client.threads.create()
    await client.runs.wait(thread_id, "hitl", { input: { x: 0 } })
    const asked = await client.threads.get(thread_id)

    const values = await client.runs.wait(thread_id, "hitl", { command: { resume: false } })

    assert.equal(asked.status, "interrupted")
    assert.deepEqual(Object.values(asked.interrupts ?? {}).flat()[0]?.value, { question: "continue?" })
    assert.deepEqual(values, { x: 5, y: "false" })
  })

  await t.test("goes on with attempt 2 after its worker was killed, and repeats no saved step", async () => {
    const { thread_id } = await client.threads.create()
    const file = join(temporaryFolder(), "steps")
    const stepsRun = () =>
      existsSync(file)
        ? readFileSync(file, "utf8")
            .trimEnd()
            .split("\n")
            .map((line) => line.split(" ").map(Number))
        : []
    const options = { input: { file, steps: 20 }, streamMode: "values", durability: "sync" } as const
    const reading = collect(client.runs.stream(thread_id, "steps", { ...options, config: { recursion_limit: 100 } }))
    const [, firstPid = 0] = await until(() => stepsRun()[5], { what: "five steps are saved" })

    process.kill(firstPid, "SIGKILL")

    const chunks = await reading
    assert.deepEqual(fieldsOf(dataOf(chunks, "metadata"), "attempt"), [1, 2])
    assert.equal(dataOf(chunks, "end")[0]?.status, "success")
    assert.deepEqual(
      dataOf(chunks, "values").at(-1)?.log,
      Array.from({ length: 20 }, (_, step) => step),
    )
    const before = stepsRun().filter(([, pid]) => pid === firstPid)
    const after = stepsRun().filter(([, pid]) => pid !== firstPid)
    const [killedAt = 0] = before.at(-1) ?? []
    const [resumedAt = 0] = after[0] ?? []
    // The step that was killed ran again unless it had just been saved.
    assert.ok(resumedAt === killedAt || resumedAt === killedAt + 1, `killed at ${killedAt}, went on at ${resumedAt}`)
    assert.equal(after.length, 20 - resumedAt)
  })
})
