/** A loop of super-steps that each change a state of 4 KB, or of the requested size, to measure the cost of checkpoints. */
import { Annotation, StateGraph } from "@langchain/langgraph"

const State = Annotation.Root({
  steps: Annotation(),
  step: Annotation(),
  text: Annotation(),
  size: Annotation(),
})

/** A text that is different in each step. */
const textOf = (step, size) => `${step} `.repeat(size).slice(0, size)

const next = ({ step = 0, size = 4096 }) => ({ step: step + 1, text: textOf(step + 1, size) })

export const graph = new StateGraph(State)
  .addNode("next", next)
  .addEdge("__start__", "next")
  .addConditionalEdges("next", ({ step, steps }) => (step < steps ? "next" : "__end__"))
  .compile()
