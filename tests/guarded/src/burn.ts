/** Holds the event loop of its worker for ever. */
import { Annotation, StateGraph } from "@langchain/langgraph"

export const graph = new StateGraph(Annotation.Root({ n: Annotation<number>() }))
  .addNode("burn", () => {
    process.stdout.write("the graph burns\n")
    for (;;);
  })
  .addEdge("__start__", "burn")
  .compile()
