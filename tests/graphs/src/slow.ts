import { setTimeout as sleep } from "node:timers/promises"
import { Annotation, type LangGraphRunnableConfig, StateGraph } from "@langchain/langgraph"

const State = Annotation.Root({ n: Annotation<number> })

export const graph = new StateGraph(State)
  .addNode("tick", async ({ n }, config: LangGraphRunnableConfig) => {
    config.writer?.({ tick: n })
    await sleep(config.configurable?.tick_ms ?? 400, undefined, { signal: config.signal })
    return { n: n + 1 }
  })
  .addEdge("__start__", "tick")
  .addConditionalEdges("tick", ({ n }) => (n < 5 ? "tick" : "__end__"), ["tick", "__end__"])
  .compile()
