/** A graph in a graph, and two nodes in one step. */
import { Annotation, StateGraph } from "@langchain/langgraph"

const State = Annotation.Root({ log: Annotation<string[]>({ reducer: (a, b) => a.concat(b), default: () => [] }) })

const inner = new StateGraph(State)
  .addNode("inside", () => ({ log: ["inside"] }))
  .addEdge("__start__", "inside")
  .addEdge("inside", "__end__")
  .compile()

export const graph = new StateGraph(State)
  .addNode("left", () => ({ log: ["left"] }))
  .addNode("right", () => ({ log: ["right"] }))
  .addNode("sub", async (_state, config) => ({ log: (await inner.invoke({ log: [] }, config)).log }))
  .addEdge("__start__", "left")
  .addEdge("__start__", "right")
  .addEdge(["left", "right"], "sub")
  .addEdge("sub", "__end__")
  .compile()
