import { type LangGraphRunnableConfig, StateGraph } from "@langchain/langgraph"
import { z } from "zod"

const State = z.object({
  topic: z.string().describe("what to write on"),
  count: z.number().default(0),
  tags: z.array(z.string()).optional(),
})

const Context = z.object({ model: z.enum(["small", "large"]).default("small") })

/** Called for every use; what it was called for shows in the tags. */
export async function makeGraph(config: LangGraphRunnableConfig, runtime: { accessContext: string }) {
  return new StateGraph(State, Context)
    .addNode("write", ({ count }) => ({
      count: count + 1,
      tags: [runtime.accessContext, String(config.configurable?.graph_id)],
    }))
    .addEdge("__start__", "write")
    .addEdge("write", "__end__")
    .compile()
}
