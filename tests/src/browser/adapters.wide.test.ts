/** Adapters and runtimes of other projects, against a deployment: each shows a graph's answer. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { startPlatform } from "../testing/platform.js"
import { openChatPage } from "./chat-page.js"
import { deployGraphs } from "./deployed-graphs.js"
import { chromium, frontEnd, noBrowserFrontEnds, noFrontEnds } from "./front-ends.js"

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

interface AssistantShown {
  readonly messages: readonly { readonly role: string; readonly content: string }[]
  readonly isLoading: boolean
}

const adapters = async (): Promise<Adapters> => (await import(frontEnd("adapters.mjs"))) as Adapters

const joined = (parts: readonly { type: string; delta?: string }[], type: string) =>
  parts.flatMap((part) => (part.type === type ? (part.delta ?? "") : [])).join("")

test("adapters and runtimes on a deployment", { skip: noFrontEnds }, async (t) => {
  await using platform = await startPlatform()
  const { url, headers } = await deployGraphs(platform, "adapters", ["talk", "agent"])

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

  for (const runtime of ["langgraph", "langchain"]) {
    await t.test(`assistant-ui with react-${runtime} shows words`, { skip: noBrowserFrontEnds }, async () => {
      const page = { script: frontEnd("assistant-page.mjs"), parameters: { runtime } }
      await using chat = await openChatPage<AssistantShown>(chromium, { url, headers }, page)
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
