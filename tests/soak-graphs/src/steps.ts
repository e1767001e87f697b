/** Makes as many super-steps as it is told. Its log is 0, 1, 2 … exactly when no step was lost or counted twice. */
import { existsSync } from "node:fs"
import { setTimeout as sleep } from "node:timers/promises"
import { Annotation, Command, type LangGraphRunnableConfig, StateGraph } from "@langchain/langgraph"

const State = Annotation.Root({
  /** Steps that are still to make, and milliseconds that each takes. */
  steps: Annotation<number>,
  everyMs: Annotation<number>,
  /** A file: until there is one it goes on making steps, whatever their number. */
  gate: Annotation<string | undefined>,
  log: Annotation<number[]>({ reducer: (log, more) => log.concat(more), default: () => [] }),
})

async function step({ steps, everyMs, gate, log }: typeof State.State, config: LangGraphRunnableConfig) {
  config.writer?.({ step: log.length })
  if (everyMs > 0) await sleep(everyMs, undefined, config.signal ? { signal: config.signal } : {})
  const isLast = gate === undefined ? steps <= 1 : existsSync(gate)
  return new Command({ update: { steps: steps - 1, log: [log.length] }, goto: isLast ? "__end__" : "step" })
}

export const graph = new StateGraph(State)
  .addNode("step", step, { ends: ["step", "__end__"] })
  .addEdge("__start__", "step")
  .compile()
