/** Asks the server that executes it. */

import { Annotation, StateGraph } from "@langchain/langgraph"
import { Client } from "@langchain/langgraph-sdk"

export const graph = new StateGraph(Annotation.Root({ found: Annotation<number>() }))
  .addNode("ask", async () => {
    const client = new Client()
    const { thread_id } = await client.threads.create()
    return { found: (await client.threads.get(thread_id)).thread_id === thread_id ? 1 : 0 }
  })
  .addEdge("__start__", "ask")
  .compile()
