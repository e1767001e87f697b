/** A page with the hook and nothing else: what it shows is the hook's state as JSON, what it can do is `globalThis.chat`. */
import { useStream } from "@langchain/langgraph-sdk/react"
import { createElement, useState } from "react"
import { createRoot } from "react-dom/client"

const address = new URL(location.href)
const asked = (name) => address.searchParams.get(name)

function Chat() {
  const [threadId, setThreadId] = useState(asked("thread"))
  const stream = useStream({
    apiUrl: asked("api"),
    defaultHeaders: JSON.parse(asked("headers")),
    assistantId: "talk",
    threadId,
    // As applications do it: after a reload the page is on the same thread.
    onThreadId: (id) => {
      setThreadId(id)
      address.searchParams.set("thread", id)
      history.replaceState(null, "", address)
    },
    reconnectOnMount: true,
    fetchStateHistory: true,
  })
  globalThis.chat = stream
  const messages = stream.messages.map((message) => {
    const { branch, branchOptions } = stream.getMessagesMetadata(message) ?? {}
    return { id: message.id, type: message.type, content: message.content, branch, branchOptions }
  })
  const { isLoading, interrupt, error } = stream
  const state = { threadId, messages, isLoading, interrupt: interrupt?.value, error: error && String(error) }
  return createElement("pre", { id: "state" }, JSON.stringify(state))
}

createRoot(document.getElementById("root")).render(createElement(Chat))
