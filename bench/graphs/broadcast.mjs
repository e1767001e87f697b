/** A run with many listeners: it waits until all have joined, then sends its events as fast as possible. */
import { access } from "node:fs/promises"
import { setTimeout as sleep } from "node:timers/promises"
import { Annotation, StateGraph } from "@langchain/langgraph"

const State = Annotation.Root({
  /** A file that the benchmark creates when every listener has joined. */
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

// Each event is sent in its own turn of the event loop, like a model's tokens. Several in one turn would be one write.
async function send({ events }, { writer }) {
  for (let number = 0; number < events; number++) {
    writer({ number, text: "the text of an event" })
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
