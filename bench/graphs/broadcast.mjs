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

// The event loop gets a turn now and then, as it does under any model: nothing is sent while a node holds it.
const burst = 10

async function send({ events }, { writer }) {
  for (let number = 0; number < events; number++) {
    writer({ number, text: "what a listener hears" })
    if (number % burst === burst - 1) await new Promise(setImmediate)
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
