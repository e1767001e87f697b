/** Tells how much its worker holds once everything that can be freed is freed. */
import { setTimeout as sleep } from "node:timers/promises"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { Annotation, StateGraph } from "@langchain/langgraph"

const State = Annotation.Root({ pid: Annotation<number>, heapBytes: Annotation<number> })

setFlagsFromString("--expose-gc")
const collectGarbage = runInNewContext("gc") as () => void

async function measure() {
  collectGarbage()
  // Other runs that ask at the same moment must come to another worker, so this one stays taken for a while.
  await sleep(20)
  collectGarbage()
  return { pid: process.pid, heapBytes: process.memoryUsage().heapUsed }
}

export const graph = new StateGraph(State)
  .addNode("measure", measure)
  .addEdge("__start__", "measure")
  .addEdge("measure", "__end__")
  .compile()
