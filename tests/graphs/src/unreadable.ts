/** A node whose work throws an error with a message that cannot be read. With `caught`, the node goes on. */
import { RunnableLambda } from "@langchain/core/runnables"
import { Annotation, StateGraph } from "@langchain/langgraph"

class Unreadable extends Error {
  override get message(): string {
    throw new TypeError("this error has no message")
  }
}

const State = Annotation.Root({ caught: Annotation<boolean> })

const failing = new RunnableLambda({
  func: () => {
    throw new Unreadable()
  },
}).withConfig({ runName: "failing" })

export const graph = new StateGraph(State)
  .addNode("call", async ({ caught }) => {
    try {
      await failing.invoke({})
    } catch (error) {
      if (!caught) throw error
    }
    return {}
  })
  .addEdge("__start__", "call")
  .addEdge("call", "__end__")
  .compile()
