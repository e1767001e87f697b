/** A node that begins work nobody waits for: it has not ended when the run does. */
import { setTimeout as sleep } from "node:timers/promises"
import { RunnableLambda } from "@langchain/core/runnables"
import { Annotation, StateGraph } from "@langchain/langgraph"

const waiting = new RunnableLambda({
  func: () => sleep(60_000, undefined, { ref: false }),
}).withConfig({ runName: "waiting" })

export const graph = new StateGraph(Annotation.Root({ n: Annotation<number> }))
  .addNode("begin", async () => {
    void waiting.invoke({})
    // It begins, and its callback is called.
    await sleep(10)
    return { n: 1 }
  })
  .addEdge("__start__", "begin")
  .addEdge("begin", "__end__")
  .compile()
