import { HumanMessage } from "@langchain/core/messages"
import { Annotation, MessagesAnnotation, StateGraph } from "@langchain/langgraph"

const State = Annotation.Root({ ...MessagesAnnotation.spec, known: Annotation<boolean[]> })

/** Whether the messages of the state, also those from a checkpoint, are of the classes that this file sees. */
export const graph = new StateGraph(State)
  .addNode("look", ({ messages }) => ({ known: messages.map((message) => message instanceof HumanMessage) }))
  .addEdge("__start__", "look")
  .addEdge("look", "__end__")
  .compile()
