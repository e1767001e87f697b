/** Waits for a person, then says what they answered. */
import { Annotation, interrupt, StateGraph } from "@langchain/langgraph"

const State = Annotation.Root({ answers: Annotation<string[]>({ reducer: (a, b) => a.concat(b), default: () => [] }) })

export const graph = new StateGraph(State)
  .addNode("ask", () => ({ answers: [String(interrupt({ question: "go on?" }))] }))
  .addEdge("__start__", "ask")
  .addEdge("ask", "__end__")
  .compile()
