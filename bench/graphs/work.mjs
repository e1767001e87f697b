/** A job for the queue: it waits as for a network, and says when it began. */
import { setTimeout as sleep } from "node:timers/promises"
import { Annotation, StateGraph } from "@langchain/langgraph"

const State = Annotation.Root({
  ms: Annotation(),
  beganAt: Annotation(),
})

async function work({ ms }) {
  // The clock of the machine: the same in every process.
  const beganAt = Number(process.hrtime.bigint()) / 1e6
  await sleep(ms)
  return { beganAt }
}

export const graph = new StateGraph(State)
  .addNode("work", work)
  .addEdge("__start__", "work")
  .addEdge("work", "__end__")
  .compile()
