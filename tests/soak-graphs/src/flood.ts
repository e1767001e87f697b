/** One node that sends many large events, no faster than a busy machine's client can read. */
import { setTimeout as sleep } from "node:timers/promises"
import { Annotation, type LangGraphRunnableConfig, StateGraph } from "@langchain/langgraph"

const State = Annotation.Root({
  events: Annotation<number>,
  eventBytes: Annotation<number>,
  sent: Annotation<number>,
})

// After every fourth event: 64 KB each are some 12 MB a second.
const pauseMs = 20

async function pour({ events, eventBytes }: typeof State.State, config: LangGraphRunnableConfig) {
  const filling = "x".repeat(eventBytes)
  for (let event = 0; event < events; event++) {
    config.writer?.({ event, filling })
    if (event % 4 === 3) await sleep(pauseMs)
  }
  return { sent: events }
}

export const graph = new StateGraph(State)
  .addNode("pour", pour)
  .addEdge("__start__", "pour")
  .addEdge("pour", "__end__")
  .compile()
