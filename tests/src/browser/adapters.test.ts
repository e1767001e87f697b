/** Adapters and runtimes of other projects, against a real server: each shows a graph's answer. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { fileURLToPath } from "node:url"
import { startGraphServer } from "../testing/graph-server.js"
import { openChatPage } from "./chat-page.js"
import { chromium, frontEnd, noBrowserFrontEnds, noFrontEnds } from "./front-ends.js"

const config = fileURLToPath(new URL("../../graphs/browser.json", import.meta.url))

interface Question {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly graphId: string
  readonly text: string
}

interface Adapters {
  askByAgUi(question: Question): Promise<{ events: { type: string; delta?: string; toolCallName?: string }[] }>
  askByAiSdk(question: Question): Promise<{ type: string; delta?: string; toolName?: string }[]>
}

const adapters = async (): Promise<Adapters> => (await import(frontEnd("adapters.mjs"))) as Adapters

const joined = (parts: readonly { type: string; delta?: string }[], type: string) =>
  parts.flatMap((part) => (part.type === type ? (part.delta ?? "") : [])).join("")

test("adapters for back ends", { skip: noFrontEnds }, async (t) => {
  await using server = await startGraphServer({ SUPERSTEP_CONFIG: config })
  const { url, headers } = server

  await t.test("AG-UI shows words and tool calls", async () => {
    const { askByAgUi } = await adapters()

    const talk = await askByAgUi({ url, headers, graphId: "talk", text: "hello" })
    const agent = await askByAgUi({ url, headers, graphId: "agent", text: "what is 1 + 2?" })

    assert.equal(joined(talk.events, "TEXT_MESSAGE_CONTENT"), "You said hello.")
    assert.equal(talk.events.at(-1)?.type, "RUN_FINISHED")
    assert.ok(agent.events.some(({ type, toolCallName }) => type === "TOOL_CALL_START" && toolCallName === "add"))
    assert.equal(joined(agent.events, "TEXT_MESSAGE_CONTENT"), "The sum is 3.")
  })

  await t.test("the AI SDK shows words and tool calls", async () => {
    const { askByAiSdk } = await adapters()

    const talk = await askByAiSdk({ url, headers, graphId: "talk", text: "hello" })
    const agent = await askByAiSdk({ url, headers, graphId: "agent", text: "what is 1 + 2?" })

    assert.equal(joined(talk, "text-delta"), "You said hello.")
    assert.equal(talk.at(-1)?.type, "finish")
    assert.ok(agent.some(({ toolName }) => toolName === "add"))
    assert.equal(joined(agent, "text-delta"), "The sum is 3.")
  })
})

interface AssistantShown {
  readonly messages: readonly { readonly role: string; readonly content: string }[]
  readonly isLoading: boolean
}

test("runtimes of assistant-ui in a browser", { skip: noBrowserFrontEnds }, async (t) => {
  await using server = await startGraphServer({ SUPERSTEP_CONFIG: config })
  for (const runtime of ["langgraph", "langchain"]) {
    await t.test(runtime, async () => {
      const page = { script: frontEnd("assistant-page.mjs"), parameters: { runtime } }
      await using chat = await openChatPage<AssistantShown>(chromium, server, page)
      await chat.shows("an empty thread", ({ messages }) => messages?.length === 0)

      await chat.run("void chat.send('hello')")

      const { messages } = await chat.shows("the answer", (it) => !it.isLoading && it.messages.length === 2)
      assert.deepEqual(messages, [
        { role: "user", content: "hello" },
        { role: "assistant", content: "You said hello." },
      ])
    })
  }
})
