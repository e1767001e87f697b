/** A page with the hook of `@langchain/react`: what it shows is the hook's state as JSON, what it can do is `globalThis.chat`. */
import { useMessageMetadata, useMessages, useStream } from "@langchain/react"
import { createElement, useState } from "react"
import { createRoot } from "react-dom/client"

const address = new URL(location.href)
const asked = (name) => address.searchParams.get(name)
const headers = JSON.parse(asked("headers"))

globalThis.forkPoints = {}
globalThis.subagentTexts = {}

const textOf = ({ text, content }) => text ?? (typeof content === "string" ? content : "")

function ForkPoint({ stream, id }) {
  globalThis.forkPoints[id] = useMessageMetadata(stream, id)?.parentCheckpointId
  return null
}

function Subagent({ stream, subagent }) {
  globalThis.subagentTexts[subagent.id] = useMessages(stream, subagent).map(textOf)
  return null
}

// A browser's WebSocket sends no headers: the key goes along as a subprotocol. The SDK refuses headers of its own then, so other
// requests get them by `fetch`.
const webSocketFactory = (url) => new WebSocket(url, JSON.parse(asked("protocols") ?? "[]"))
const callerOptions = {
  fetch: (url, init) => {
    const all = new Headers(init?.headers)
    for (const [name, value] of Object.entries(headers)) all.set(name, value)
    return fetch(url, { ...init, headers: all })
  },
}

function Chat() {
  const [threadId, setThreadId] = useState(asked("thread"))
  const stream = useStream({
    apiUrl: asked("api"),
    assistantId: asked("assistant") ?? "talk",
    threadId,
    // As applications do it: after a reload the page is on the same thread.
    onThreadId: (id) => {
      setThreadId(id)
      address.searchParams.set("thread", id)
      history.replaceState(null, "", address)
    },
    ...(asked("transport") === "websocket"
      ? { transport: "websocket", webSocketFactory, callerOptions }
      : { transport: "sse", defaultHeaders: headers }),
  })
  globalThis.chat = stream
  const { messages, isLoading, isThreadLoading, interrupts, error, toolCalls, subagents, subgraphs } = stream
  const state = {
    threadId,
    messages: messages.map((message) => ({ id: message.id, type: message.type, content: textOf(message) })),
    isLoading: isLoading || isThreadLoading,
    interrupts: interrupts.map(({ id, value }) => ({ id, value })),
    error: error && String(error),
    toolCalls: toolCalls.map(({ name, input, args, output, status }) => ({
      name,
      args: args ?? input,
      output,
      status,
    })),
    subagents: [...subagents.values()].map(({ name, status }) => ({ name, status })),
    subgraphs: [...subgraphs.values()].map(({ nodeName, status }) => ({ nodeName, status })),
  }
  return createElement(
    "div",
    null,
    createElement("pre", { id: "state" }, JSON.stringify(state)),
    ...messages.map(({ id }) => createElement(ForkPoint, { key: `m${id}`, stream, id })),
    ...[...subagents.values()].map((it) => createElement(Subagent, { key: `s${it.id}`, stream, subagent: it })),
  )
}

createRoot(document.getElementById("root")).render(createElement(Chat))
