/** A node that blocks its event loop, so that everything else in its process waits. */
import { Annotation, StateGraph } from "@langchain/langgraph"

const State = Annotation.Root({
  ms: Annotation(),
  pid: Annotation(),
  beganAt: Annotation(),
  endedAt: Annotation(),
})

// The machine's monotonic clock, which all processes share.
const now = () => Number(process.hrtime.bigint()) / 1e6

function burn({ ms }) {
  const beganAt = now()
  while (now() - beganAt < ms);
  return { pid: process.pid, beganAt, endedAt: now() }
}

export const graph = new StateGraph(State)
  .addNode("burn", burn)
  .addEdge("__start__", "burn")
  .addEdge("burn", "__end__")
  .compile()
