/** A run with many listeners: it waits until they are all there, then sends its events as fast as it can. */
import { access } from "node:fs/promises"
import { setTimeout as sleep } from "node:timers/promises"
import { Annotation, StateGraph } from "@langchain/langgraph"

const State = Annotation.Root({
  /** A file that the benchmark makes when every listener has joined. */
  gate: Annotation(),
  events: Annotation(),
})

const isThere = (path) =>
  access(path).then(
    () => true,
    () => false,
  )

async function wait({ gate }) {
  while (!(await isThere(gate))) await sleep(10)
  return {}
}

// Each event comes in a turn of its own, as a model's tokens do: several at once would go out in one write.
async function send({ events }, { writer }) {
  for (let number = 0; number < events; number++) {
    writer({ number, text: "what a listener hears" })
    await new Promise(setImmediate)
  }
  return {}
}

export const graph = new StateGraph(State)
  .addNode("wait", wait)
  .addNode("send", send)
  .addEdge("__start__", "wait")
  .addEdge("wait", "send")
  .addEdge("send", "__end__")
  .compile()
