import { FakeListChatModel } from "@langchain/core/utils/testing"
import { Annotation, type LangGraphRunnableConfig, MessagesAnnotation, StateGraph } from "@langchain/langgraph"

const State = Annotation.Root({
  log: Annotation<string[]>({ reducer: (log, lines) => log.concat(lines), default: () => [] }),
  ...MessagesAnnotation.spec,
})

const model = new FakeListChatModel({ responses: ["ok"] })

const sub = new StateGraph(State)
  .addNode("inner", async (_state, config: LangGraphRunnableConfig) => {
    config.writer?.({ from: "inner" })
    return { log: ["inner"], messages: [await model.invoke("x")] }
  })
  .addEdge("__start__", "inner")
  .addEdge("inner", "__end__")
  .compile()

export const graph = new StateGraph(State)
  .addNode("first", () => ({ log: ["first"] }))
  .addNode("sub", sub)
  .addEdge("__start__", "first")
  .addEdge("first", "sub")
  .addEdge("sub", "__end__")
  .compile()
