import { Annotation, StateGraph } from "@langchain/langgraph"

const State = Annotation.Root({ x: Annotation<number> })

export const graph = new StateGraph(State)
  .addNode("ok", ({ x }) => ({ x: x + 1 }))
  .addNode("boom", () => {
    throw new TypeError("node exploded")
  })
  .addEdge("__start__", "ok")
  .addEdge("ok", "boom")
  .addEdge("boom", "__end__")
  .compile()
