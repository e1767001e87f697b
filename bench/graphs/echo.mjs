/** A minimal graph: one node that repeats its input. The measurement covers everything around the graph. */
import { AIMessage } from "@langchain/core/messages"
import { MessagesAnnotation, StateGraph } from "@langchain/langgraph"

const echo = ({ messages }) => ({ messages: [new AIMessage(`echo: ${messages.at(-1)?.content}`)] })

export const graph = new StateGraph(MessagesAnnotation)
  .addNode("echo", echo)
  .addEdge("__start__", "echo")
  .addEdge("echo", "__end__")
  .compile()
