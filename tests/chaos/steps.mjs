/** Super-steps in a row. Each tells that it executes, streams tokens, and adds one message and one to a counter. */
import { existsSync } from "node:fs"
import { setTimeout as sleep, setImmediate as turn } from "node:timers/promises"
import { Annotation, StateGraph } from "@langchain/langgraph"
import { tell } from "./effect.mjs"

const added = (one, two) => one + two
const joined = (one, two) => one.concat(two)

const State = Annotation.Root({
  /**
   * What this run makes: `steps` super-steps of `stepMs` milliseconds, each with `tokens` events, as quick as it can for 0. The
   * last one waits for the file `gate`, if there is to be one. With `notes` each also writes what it did into the store.
   */
  task: Annotation(),
  at: Annotation(),
  count: Annotation({ reducer: added, default: () => 0 }),
  messages: Annotation({ reducer: joined, default: () => [] }),
})

async function step({ task, at = 0 }, config) {
  tell(config, "step")
  for (let token = 0; token < task.tokens; token++) {
    config.writer?.({ at, token })
    // A node that never gives way holds the process, and LangGraph's streams then take seconds for each 10,000 chunks.
    if (task.stepMs > 0) await sleep(task.stepMs / task.tokens)
    else if (token % 100 === 99) await turn()
  }
  if (task.notes) await config.store.put(["chaos"], task.name, { at, attempt: config.metadata.run_attempt })
  while (task.gate && at === task.steps - 1 && !existsSync(task.gate)) await sleep(5)
  return { at: at + 1, count: 1, messages: [`${task.name}:${at}`] }
}

export const graph = new StateGraph(State)
  .addNode("step", step)
  .addEdge("__start__", "step")
  .addConditionalEdges("step", ({ at, task }) => (at < task.steps ? "step" : "__end__"), ["step", "__end__"])
  .compile()
  // As many as the longest task takes.
  .withConfig({ recursionLimit: 500 })
