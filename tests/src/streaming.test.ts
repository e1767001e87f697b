/** What the official JavaScript SDK gets through a deployment's address: every stream mode, threads, joins, failures. */

import assert from "node:assert/strict"
import { test } from "node:test"
import type { Client } from "@langchain/langgraph-sdk"
import { runCommand } from "@superstep/toolkit/exec/run-command"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { runsWideTests } from "@superstep/toolkit/testing/wide-tests"
import { clientOf, deploy } from "./testing/deployments.js"
import { agentLanguages, testPython, withoutPython } from "./testing/languages.js"
import { startLocalPlatform } from "./testing/platform.js"
import { createRepository } from "./testing/repository.js"

interface Chunk {
  readonly event: string
  // biome-ignore lint/suspicious/noExplicitAny: what a chunk holds is what each test asserts
  readonly data: any
}

const question = { messages: [{ role: "user", content: "hi" }] }

async function collect(stream: AsyncIterable<unknown>): Promise<Chunk[]> {
  const chunks: Chunk[] = []
  for await (const chunk of stream) chunks.push(chunk as Chunk)
  return chunks
}

const modesOf = (chunks: readonly Chunk[]) => [...new Set(chunks.map(({ event }) => event.split(/[|/]/)[0]))]

const ask = (client: Client, threadId: string | null, options: object) =>
  collect(client.runs.stream(threadId as string, "chat", { input: question, ...options }))

for (const { name: language, skip: withoutLanguage } of agentLanguages) {
  test(`the official SDK streams through the address of a deployment in ${language}`, {
    skip: withoutLanguage,
  }, async (t) => {
    await using platform = await startLocalPlatform()
    const repository = await createRepository(language)
    // An install takes five seconds of processor time.
    const packages = runsWideTests || language === "Python" ? "installed" : "linked"
    const client = clientOf(platform, await deploy(platform, "streams", repository.url, [], packages))

    await t.test("several modes at once on a thread, whose state stays", async () => {
      const { thread_id } = await client.threads.create()

      const chunks = await ask(client, thread_id, { streamMode: ["values", "updates", "messages-tuple", "custom"] })

      assert.deepEqual(modesOf(chunks).sort(), ["custom", "end", "messages", "metadata", "updates", "values"])
      const state = await client.threads.getState<{ messages: { content: string }[] }>(thread_id)
      assert.deepEqual(fieldsOf(state.values.messages, "content"), ["hi", "hello from v1"])
      assert.deepEqual((await client.threads.get(thread_id)).status, "idle")
    })

    await t.test("the Python client gets the same stream", { skip: withoutPython }, async () => {
      const program = [
        "import os",
        "from langgraph_sdk import get_sync_client",
        "client = get_sync_client(url=os.environ['URL'], api_key=os.environ['KEY'])",
        'question = {"messages": [{"role": "user", "content": "hi"}]}',
        'for chunk in client.runs.stream(None, "chat", input=question, stream_mode="messages-tuple"):',
        "    print(chunk.event, chunk.data[0]['content'] if chunk.event == 'messages' else '')",
      ].join("\n")
      const url = `${platform.agentsUrl}/d/streams`

      const { stdout } = await runCommand({
        argv: [testPython, "-c", program],
        cwd: platform.home,
        env: { PATH: process.env.PATH ?? "", URL: url, KEY: platform.credentials.api_key },
        timeoutMs: 60_000,
      })

      const lines = stdout.trimEnd().split("\n")
      assert.equal(lines[0]?.trim(), "metadata")
      const tokens = lines.filter((line) => line.startsWith("messages "))
      assert.equal(tokens.map((line) => line.slice("messages ".length)).join(""), "hello from v1")
    })
  })
}
