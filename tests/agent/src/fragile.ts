/** Ends its whole process in the second step of a first attempt. */
import { Annotation, type LangGraphRunnableConfig, StateGraph } from "@langchain/langgraph"

const State = Annotation.Root({ log: Annotation<string[]>({ reducer: (a, b) => a.concat(b), default: () => [] }) })

function fall(_state: unknown, config: LangGraphRunnableConfig) {
  if (config.metadata?.run_attempt === 1) process.kill(process.pid, "SIGKILL")
  return { log: [`attempt ${config.metadata?.run_attempt}`] }
}

export const graph = new StateGraph(State)
  .addNode("stand", () => ({ log: ["stood"] }))
  .addNode("fall", fall)
  .addEdge("__start__", "stand")
  .addEdge("stand", "fall")
  .addEdge("fall", "__end__")
  .compile()
