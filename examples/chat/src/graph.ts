/**
 * The whole agent: one node that asks a model. The messages of a thread are kept by the server, so the next run on the
 * same thread sees the conversation so far.
 */
import { END, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph"
import { ScriptedModel } from "./scripted-model.js"

// To talk to a real model, install its package and put it here:
//   import { ChatOpenAI } from "@langchain/openai"
//   const model = new ChatOpenAI({ model: "gpt-5-mini" })
const model = new ScriptedModel({})

export const graph = new StateGraph(MessagesAnnotation)
  .addNode("talk", async ({ messages }) => ({ messages: [await model.invoke(messages)] }))
  .addEdge(START, "talk")
  .addEdge("talk", END)
  .compile()
