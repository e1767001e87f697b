/** Does `count` pieces of work, each with 8,000 characters that go in and come out. */
import { RunnableLambda } from "@langchain/core/runnables"
import { Annotation, StateGraph } from "@langchain/langgraph"

const State = Annotation.Root({ count: Annotation<number> })

const same = new RunnableLambda({ func: (text: string) => text })

export const graph = new StateGraph(State)
  .addNode("work", async ({ count }) => {
    for (let n = 0; n < count; n++) await same.invoke("x".repeat(8_000))
    return {}
  })
  .addEdge("__start__", "work")
  .addEdge("work", "__end__")
  .compile()
