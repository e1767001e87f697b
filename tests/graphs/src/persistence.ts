import { Annotation, type LangGraphRunnableConfig, MemorySaver, StateGraph } from "@langchain/langgraph"

const State = Annotation.Root({ n: Annotation<number> })

const counter = () =>
  new StateGraph(State)
    .addNode("plus", ({ n }) => ({ n: n + 1 }))
    .addEdge("__start__", "plus")
    .addEdge("plus", "__end__")

/** Compiled with a saver of its own, which the platform's replaces. */
export const withMemorySaver = counter().compile({ checkpointer: new MemorySaver() })

export const withoutCheckpointer = counter().compile({ checkpointer: false })

const Notes = Annotation.Root({ note: Annotation<string>, found: Annotation<unknown[]> })

/** Puts a note into the store and reads it back in the ways that a node has (LangGraph 1.4 does not let it list namespaces). */
export const notes = new StateGraph(Notes)
  .addNode("remember", async ({ note }, { store }: LangGraphRunnableConfig) => {
    await store?.put(["notes", "all"], "first", { text: note })
    const item = await store?.get(["notes", "all"], "first")
    const hits = await store?.search(["notes"], { filter: { text: note } })
    await store?.delete(["notes", "all"], "first")
    const gone = await store?.get(["notes", "all"], "first")
    return { found: [item?.value, item?.createdAt instanceof Date, hits?.length, gone] }
  })
  .addEdge("__start__", "remember")
  .addEdge("remember", "__end__")
  .compile()
