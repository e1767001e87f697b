/** Makes as many super-steps as it is told. Its log is 0, 1, 2 … exactly when no step was lost or counted twice. */
import { setTimeout as sleep } from "node:timers/promises"
import { Annotation, Command, type LangGraphRunnableConfig, StateGraph } from "@langchain/langgraph"

const State = Annotation.Root({
  /** Steps that are still to make, and milliseconds that each takes. */
  steps: Annotation<number>,
  everyMs: Annotation<number>,
  log: Annotation<number[]>({ reducer: (log, more) => log.concat(more), default: () => [] }),
})

async function step({ steps, everyMs, log }: typeof State.State, config: LangGraphRunnableConfig) {
  config.writer?.({ step: log.length })
  if (everyMs > 0) await sleep(everyMs, undefined, config.signal ? { signal: config.signal } : {})
  return new Command({ update: { steps: steps - 1, log: [log.length] }, goto: steps > 1 ? "step" : "__end__" })
}

export const graph = new StateGraph(State)
  .addNode("step", step, { ends: ["step", "__end__"] })
  .addEdge("__start__", "step")
  .compile()
