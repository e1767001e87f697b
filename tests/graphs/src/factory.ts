import { setTimeout } from "node:timers/promises"
import { type LangGraphRunnableConfig, StateGraph } from "@langchain/langgraph"
import { z } from "zod"

const State = z.object({
  topic: z.string().describe("what to write on"),
  count: z.number().default(0),
  tags: z.array(z.string()).optional(),
})

const Context = z.object({ model: z.enum(["small", "large"]).default("small") })

const Steps = z.object({ steps: z.array(z.string()).default([]) })

/** Has a node of the name that its config says; making it takes `making_ms`. */
export async function makeNamed({ configurable }: LangGraphRunnableConfig) {
  const name = String(configurable?.node ?? "unnamed")
  await setTimeout(Number(configurable?.making_ms ?? 0))
  return new StateGraph(Steps)
    .addNode(name, ({ steps }) => ({ steps: [...steps, name] }))
    .addNode("after", ({ steps }) => ({ steps: [...steps, "after"] }))
    .addEdge("__start__", name)
    .addEdge(name, "after")
    .addEdge("after", "__end__")
    .compile()
}

/** Called for every use; what it was called for shows in the tags. Making it takes `making_ms`. */
export async function makeGraph(config: LangGraphRunnableConfig, runtime: { accessContext: string }) {
  await setTimeout(Number(config.configurable?.making_ms ?? 0))
  return new StateGraph(State, Context)
    .addNode("write", ({ count }) => ({
      count: count + 1,
      tags: [runtime.accessContext, String(config.configurable?.graph_id)],
    }))
    .addEdge("__start__", "write")
    .addEdge("write", "__end__")
    .compile()
}
