/** Goes on for as many steps as it is told, one event a step: something to be in the middle of. */
import { setTimeout as sleep } from "node:timers/promises"
import { Annotation, Command, type LangGraphRunnableConfig, StateGraph } from "@langchain/langgraph"
import { version } from "./version.js"

const State = Annotation.Root({
  count: Annotation<number>,
  /** Steps to make, and milliseconds between them. */
  steps: Annotation<number>,
  everyMs: Annotation<number>,
  /** A key in the store's namespace `tests`; the run ends when its item is there, before it has made all steps. */
  untilItem: Annotation<string>,
  log: Annotation<number[]>({ reducer: (a, b) => a.concat(b), default: () => [] }),
})

async function tick({ count = 0, steps, everyMs, untilItem }: typeof State.State, config: LangGraphRunnableConfig) {
  await sleep(everyMs, undefined, config.signal ? { signal: config.signal } : {})
  config.writer?.({ tick: count, version })
  const update = { count: count + 1, log: [count] }
  const isToldToEnd = untilItem !== undefined && (await config.store?.get(["tests"], untilItem))
  const isOver = count + 1 >= steps || isToldToEnd
  return new Command({ update, goto: isOver ? "__end__" : "tick" })
}

export const graph = new StateGraph(State)
  .addNode("tick", tick, { ends: ["tick", "__end__"] })
  .addEdge("__start__", "tick")
  .compile()
