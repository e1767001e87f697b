import { Annotation, StateGraph } from "@langchain/langgraph"

const State = Annotation.Root({
  n: Annotation(),
  lines: Annotation({ reducer: (a, b) => a.concat(b), default: () => [] }),
})

export const graph = new StateGraph(State)
  .addNode("plus", ({ n }) => ({ n: n + 1 }))
  .addEdge("__start__", "plus")
  .addEdge("plus", "__end__")
  .compile()
