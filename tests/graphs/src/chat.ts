import { FakeListChatModel } from "@langchain/core/utils/testing"
import { type LangGraphRunnableConfig, MessagesAnnotation, StateGraph } from "@langchain/langgraph"

const model = new FakeListChatModel({ responses: ["Hi!"] })

export const graph = new StateGraph(MessagesAnnotation)
  .addNode("model", async ({ messages }, config: LangGraphRunnableConfig) => {
    config.writer?.({ progress: "calling model" })
    return { messages: [await model.invoke(messages)] }
  })
  .addEdge("__start__", "model")
  .addEdge("model", "__end__")
  .compile()
