/** A model call with a callback handler that takes its time, such as one that writes to a database. */
import { setTimeout as sleep } from "node:timers/promises"
import { FakeListChatModel } from "@langchain/core/utils/testing"
import { MessagesAnnotation, StateGraph } from "@langchain/langgraph"

const model = new FakeListChatModel({ responses: ["Hi!"] })

export const graph = new StateGraph(MessagesAnnotation)
  .addNode("model", async ({ messages }) => {
    const written: string[] = []
    const handleLLMEnd = async () => {
      await sleep(50)
      written.push("written by the handler")
    }
    const answer = await model.invoke(messages, { callbacks: [{ handleLLMEnd }] })
    return { messages: [answer, ...written] }
  })
  .addEdge("__start__", "model")
  .addEdge("model", "__end__")
  .compile()
