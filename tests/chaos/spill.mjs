/** One node that says events of random sizes, from one byte to `largest`, as fast as it can, until it has said so many `events` or `bytes`. */
import { setImmediate as turn } from "node:timers/promises"
import { Annotation, StateGraph } from "@langchain/langgraph"

const State = Annotation.Root({ task: Annotation() })

async function spill({ task: { seed, events, bytes, largest } }, { writer, signal }) {
  let [state, said] = [seed, 0]
  for (let event = 0; event < events && said < bytes && !signal?.aborted; event++) {
    state = (state * 48_271) % 2_147_483_647
    const size = 1 + (state % largest)
    writer?.("x".repeat(size))
    said += size
    // A node that never gives way holds the process.
    if (event % 100 === 99) await turn()
  }
  return {}
}

export const graph = new StateGraph(State)
  .addNode("spill", spill)
  .addEdge("__start__", "spill")
  .addEdge("spill", "__end__")
  .compile()
