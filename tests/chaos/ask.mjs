/** Stops at a question between two nodes; the answer goes into the state once. */
import { setTimeout as sleep } from "node:timers/promises"
import { Annotation, interrupt, StateGraph } from "@langchain/langgraph"
import { tell } from "./effect.mjs"

const State = Annotation.Root({
  task: Annotation(),
  count: Annotation({ reducer: (one, two) => one + two, default: () => 0 }),
  messages: Annotation({ reducer: (one, two) => one.concat(two), default: () => [] }),
})

async function before({ task }, config) {
  tell(config, "before")
  await sleep(task.stepMs)
  return { count: 1, messages: [`${task.name}:before`] }
}

function ask({ task }, config) {
  tell(config, "ask")
  return { count: 1, messages: [`${task.name}:${interrupt("how does it go on?")}`] }
}

async function after({ task }, config) {
  tell(config, "after")
  await sleep(task.stepMs)
  return { count: 1, messages: [`${task.name}:after`] }
}

export const graph = new StateGraph(State)
  .addNode("before", before)
  .addNode("ask", ask)
  .addNode("after", after)
  .addEdge("__start__", "before")
  .addEdge("before", "ask")
  .addEdge("ask", "after")
  .addEdge("after", "__end__")
  .compile()
