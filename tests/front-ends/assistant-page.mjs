/** Pages with the runtimes of assistant-ui: what they show is the thread of the runtime as JSON, what they can do is `globalThis.chat`. */
import { AssistantRuntimeProvider, useAui, useAuiState } from "@assistant-ui/react"
import { useStreamRuntime } from "@assistant-ui/react-langchain"
import { useLangGraphRuntime } from "@assistant-ui/react-langgraph"
import { Client } from "@langchain/langgraph-sdk"
import { createElement } from "react"
import { createRoot } from "react-dom/client"

const parameters = new URL(location.href).searchParams
const apiUrl = parameters.get("api")
const defaultHeaders = JSON.parse(parameters.get("headers"))
const assistantId = parameters.get("assistant") ?? "talk"
const client = new Client({ apiUrl, defaultHeaders })

const useLangGraph = () =>
  useLangGraphRuntime({
    stream: async function* (messages, { initialize }) {
      const { externalId } = await initialize()
      yield* client.runs.stream(externalId, assistantId, {
        input: { messages },
        streamMode: ["messages", "updates"],
      })
    },
    create: async () => ({ externalId: (await client.threads.create()).thread_id }),
    load: async (threadId) => ({ messages: (await client.threads.getState(threadId)).values.messages ?? [] }),
  })

const useLangChain = () => useStreamRuntime({ apiUrl, defaultHeaders, assistantId })

const useRuntime = parameters.get("runtime") === "langchain" ? useLangChain : useLangGraph

function Shown() {
  const thread = useAuiState(({ thread }) => thread)
  const aui = useAui()
  globalThis.chat = { send: (text) => aui.thread().append(text) }
  const messages = thread.messages.map(({ role, content }) => ({
    role,
    content: content.map((part) => part.text ?? "").join(""),
  }))
  return createElement("pre", { id: "state" }, JSON.stringify({ messages, isLoading: thread.isRunning }))
}

function Page() {
  return createElement(AssistantRuntimeProvider, { runtime: useRuntime() }, createElement(Shown))
}

createRoot(document.getElementById("root")).render(createElement(Page))
