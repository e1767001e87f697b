import { Annotation, StateGraph } from "@langchain/langgraph"
import { createAgent, tool } from "langchain"
import { z } from "zod"
import { ScriptedModel } from "./agent.js"

const add = tool(({ a, b }) => String(a + b), {
  name: "add",
  description: "Adds two numbers.",
  schema: z.object({ a: z.number(), b: z.number() }),
})

/** A wrapper around a graph, not a graph. */
export const agent = createAgent({ model: new ScriptedModel({}), tools: [add] })

const State = Annotation.Root({ n: Annotation<number> })

export const builder = new StateGraph(State)
  .addNode("plus", ({ n }) => ({ n: n + 1 }))
  .addEdge("__start__", "plus")
  .addEdge("plus", "__end__")

export const promised = Promise.resolve(builder.compile())
