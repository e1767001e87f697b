/** Graphs whose input is not a list named `messages`. */
import { AIMessage, type BaseMessage } from "@langchain/core/messages"
import { MessagesZodMeta, StateGraph } from "@langchain/langgraph"
import { withLangGraph } from "@langchain/langgraph/zod"
import { z } from "zod"

const Notes = z.object({ history: withLangGraph(z.custom<BaseMessage[]>(), MessagesZodMeta) })

/** A chat whose messages are in `history`. */
export const notes = new StateGraph(Notes)
  .addNode("answer", ({ history }) => ({ history: [new AIMessage(`You noted ${history.at(-1)?.content}.`)] }))
  .addEdge("__start__", "answer")
  .addEdge("answer", "__end__")
  .compile()

const Survey = z.object({
  title: z.string().min(1).default(""),
  tone: z.string().default("dry"),
  parts: z.array(z.any()),
})

/** A graph whose input is a form: a text that may not be empty, a default, a list of any JSON. */
export const survey = new StateGraph(Survey)
  .addNode("read", () => ({}))
  .addEdge("__start__", "read")
  .addEdge("read", "__end__")
  .compile()
