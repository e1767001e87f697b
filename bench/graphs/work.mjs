/** A job for the queue: it waits like a network request, and records when it started. */
import { setTimeout as sleep } from "node:timers/promises"
import { Annotation, StateGraph } from "@langchain/langgraph"

const State = Annotation.Root({
  ms: Annotation(),
  beganAt: Annotation(),
})

async function work({ ms }) {
  // The machine's monotonic clock, which all processes share.
  const beganAt = Number(process.hrtime.bigint()) / 1e6
  await sleep(ms)
  return { beganAt }
}

export const graph = new StateGraph(State)
  .addNode("work", work)
  .addEdge("__start__", "work")
  .addEdge("work", "__end__")
  .compile()
