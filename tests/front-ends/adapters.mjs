/** Adapters that run in a back end: what each makes of a graph's answer. */
import { randomUUID } from "node:crypto"
import { LangGraphAgent } from "@ag-ui/langgraph"
import { LangSmithDeploymentTransport } from "@ai-sdk/langchain"
import { Client } from "@langchain/langgraph-sdk"

/** @returns the events of AG-UI for one message */
export async function askByAgUi({ url, headers, graphId, text, threadId = randomUUID() }) {
  const client = new Client({ apiUrl: url, defaultHeaders: headers, callerOptions: { maxRetries: 0 } })
  const agent = new LangGraphAgent({ client, deploymentUrl: url, graphId, threadId })
  agent.addMessage({ id: randomUUID(), role: "user", content: text })
  const events = []
  const { newMessages } = await agent.runAgent(
    { runId: randomUUID() },
    { onEvent: ({ event }) => void events.push(event) },
  )
  return { events, newMessages }
}

/** @returns the chunks of a UI message of the AI SDK for one message */
export async function askByAiSdk({ url, headers, graphId, text }) {
  const client = new Client({ apiUrl: url, defaultHeaders: headers, callerOptions: { maxRetries: 0 } })
  const transport = new LangSmithDeploymentTransport({ client, graphId })
  const messages = [{ id: randomUUID(), role: "user", parts: [{ type: "text", text }] }]
  const stream = await transport.sendMessages({ trigger: "submit-message", chatId: randomUUID(), messages })
  const chunks = []
  for await (const chunk of stream) chunks.push(chunk)
  return chunks
}
