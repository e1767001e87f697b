/** A loop of super-steps, each of which changes a state of 4 KB: what is measured is what a checkpoint costs. */
import { Annotation, StateGraph } from "@langchain/langgraph"

const State = Annotation.Root({
  steps: Annotation(),
  step: Annotation(),
  text: Annotation(),
})

/** Four kilobytes that no two steps share. */
const textOf = (step) => `${step} `.repeat(4096).slice(0, 4096)

const next = ({ step = 0 }) => ({ step: step + 1, text: textOf(step + 1) })

export const graph = new StateGraph(State)
  .addNode("next", next)
  .addEdge("__start__", "next")
  .addConditionalEdges("next", ({ step, steps }) => (step < steps ? "next" : "__end__"))
  .compile()
