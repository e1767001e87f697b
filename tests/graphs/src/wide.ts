/** Work whose input has a wide object, and a date after it. */
import { RunnableLambda } from "@langchain/core/runnables"
import { Annotation, StateGraph } from "@langchain/langgraph"

const items = Array.from({ length: 2_000 }, (_, n) => `item ${n}`)
const wide = new RunnableLambda({ func: () => "done" }).withConfig({ runName: "wide" })

export const graph = new StateGraph(Annotation.Root({ n: Annotation<number> }))
  .addNode("work", async () => {
    await wide.invoke({ large: new Date(0), value: { items } })
    return {}
  })
  .addEdge("__start__", "work")
  .addEdge("work", "__end__")
  .compile()
