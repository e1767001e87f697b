/** Kills its own process, as a fault in native code does: no handler of anybody hears of it. */
import { Annotation, StateGraph } from "@langchain/langgraph"
import { tell } from "./effect.mjs"

const State = Annotation.Root({ task: Annotation(), at: Annotation(), messages: Annotation() })

function die(_state, config) {
  tell(config, "die")
  process.kill(process.pid, "SIGKILL")
  // The signal comes between two turns of the loop: nothing may follow it.
  return new Promise(() => undefined)
}

export const graph = new StateGraph(State)
  .addNode("die", die)
  .addEdge("__start__", "die")
  .addEdge("die", "__end__")
  .compile()
