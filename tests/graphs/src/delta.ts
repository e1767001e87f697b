/** A conversation whose `messages` and `steps` are delta channels: checkpoints hold writes, and a stored value now and then. */
import { AIMessage } from "@langchain/core/messages"
import { DeltaValue, MessagesDeltaValue, StateGraph, StateSchema } from "@langchain/langgraph"
import { z } from "zod/v4"

const State = new StateSchema({
  messages: MessagesDeltaValue,
  steps: new DeltaValue(
    z.array(z.string()).default(() => []),
    { inputSchema: z.string(), reducer: (steps, added) => [...steps, ...added], snapshotFrequency: 5 },
  ),
})

/** Two nodes at a time, so that the order of their writes matters. */
export const graph = new StateGraph(State)
  .addNode("zeta", () => ({ steps: "zeta" }))
  .addNode("alpha", () => ({ steps: "alpha" }))
  .addNode("answer", ({ messages }) => ({ messages: [new AIMessage(`heard ${messages.length}`)], steps: "answer" }))
  .addEdge("__start__", "zeta")
  .addEdge("__start__", "alpha")
  .addEdge(["zeta", "alpha"], "answer")
  .addEdge("answer", "__end__")
  .compile()
