import { Annotation, type LangGraphRunnableConfig, StateGraph } from "@langchain/langgraph"

const State = Annotation.Root({ seen: Annotation<Record<string, unknown> | null> })

/** Values that JSON can carry stay; of the others only their kind is told. */
function shown(values: Record<string, unknown> = {}): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(values).map(([key, value]) => {
      if (key.startsWith("__") || key === "checkpoint_map") return [key, `<${typeof value}>`]
      return [key, value]
    }),
  )
}

export const graph = new StateGraph(State)
  .addNode("echo", (_state, config: LangGraphRunnableConfig) => ({
    seen: {
      configurable: shown(config.configurable),
      metadata: shown(config.metadata),
      context: config.context ?? null,
      hasStore: config.store !== undefined,
      hasSignal: config.signal !== undefined,
      hasWriter: config.writer !== undefined,
      tags: config.tags,
      recursionLimit: config.recursionLimit,
    },
  }))
  .addEdge("__start__", "echo")
  .addEdge("echo", "__end__")
  .compile()
  .withConfig({ recursionLimit: 31 })
