/** Works, then throws. */
import { Annotation, StateGraph } from "@langchain/langgraph"

const State = Annotation.Root({ good: Annotation<number> })

export const graph = new StateGraph(State)
  .addNode("work", ({ good }) => ({ good: good + 1 }))
  .addNode("break", () => {
    throw new RangeError("broken on purpose")
  })
  .addEdge("__start__", "work")
  .addEdge("work", "break")
  .addEdge("break", "__end__")
  .compile()
