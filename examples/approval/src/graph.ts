/**
 * A support agent. It looks orders up on its own; a refund costs money, so that goes through a subgraph which asks a
 * person first.
 *
 *     agent ──► tools ──┐          refund:  check ──► ask ──► pay
 *       ▲ └──► refund ──┤                     └─────────┴──► report
 *       └───────────────┘
 */
import type { AIMessage } from "@langchain/core/messages"
import { END, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph"
import { ToolNode } from "@langchain/langgraph/prebuilt"
import { refund } from "./refund.js"
import { ScriptedModel } from "./scripted-model.js"
import { lookUpOrder, refundOrder } from "./tools.js"

// A real model goes here; it has to know both tools: model.bindTools([lookUpOrder, refundOrder]).
const model = new ScriptedModel({}).bindTools([lookUpOrder, refundOrder])

export const graph = new StateGraph(MessagesAnnotation)
  .addNode("agent", async ({ messages }) => ({ messages: [await model.invoke(messages)] }))
  .addNode("tools", new ToolNode([lookUpOrder]))
  .addNode("refund", refund)
  .addEdge(START, "agent")
  .addConditionalEdges("agent", whereTo, ["tools", "refund", END])
  .addEdge("tools", "agent")
  .addEdge("refund", "agent")
  .compile()

function whereTo({ messages }: typeof MessagesAnnotation.State): "tools" | "refund" | typeof END {
  const last = messages.at(-1) as AIMessage | undefined
  const call = last?.tool_calls?.[0]
  if (call === undefined) return END
  return call.name === refundOrder.name ? "refund" : "tools"
}
