/** Goes on for as many steps as it is told, one event a step: something to be in the middle of. */
import { existsSync } from "node:fs"
import { setTimeout as sleep } from "node:timers/promises"
import { Annotation, Command, type LangGraphRunnableConfig, StateGraph } from "@langchain/langgraph"
import { version } from "./version.js"

const State = Annotation.Root({
  count: Annotation<number>,
  /** Steps to make, and milliseconds between them. */
  steps: Annotation<number>,
  everyMs: Annotation<number>,
  /** A file; the run ends when it is there, before it has made all steps. */
  untilFile: Annotation<string>,
  log: Annotation<number[]>({ reducer: (a, b) => a.concat(b), default: () => [] }),
})

async function tick({ count = 0, steps, everyMs, untilFile }: typeof State.State, config: LangGraphRunnableConfig) {
  await sleep(everyMs, undefined, config.signal ? { signal: config.signal } : {})
  config.writer?.({ tick: count, version })
  const update = { count: count + 1, log: [count] }
  const isOver = count + 1 >= steps || (untilFile !== undefined && existsSync(untilFile))
  return new Command({ update, goto: isOver ? "__end__" : "tick" })
}

export const graph = new StateGraph(State)
  .addNode("tick", tick, { ends: ["tick", "__end__"] })
  .addEdge("__start__", "tick")
  .compile()
