/** The requested number of parallel branches in one super-step. */
import { Annotation, Send, StateGraph } from "@langchain/langgraph"

const State = Annotation.Root({
  branches: Annotation(),
  results: Annotation({ reducer: (all, more) => all.concat(more), default: () => [] }),
})

const branch = ({ index }) => ({ results: [index * 2] })

const spread = ({ branches }) => Array.from({ length: branches }, (_, index) => new Send("branch", { index }))

export const graph = new StateGraph(State)
  .addNode("branch", branch)
  .addConditionalEdges("__start__", spread, ["branch"])
  .addEdge("branch", "__end__")
  .compile()
