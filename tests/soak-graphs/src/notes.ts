/** Puts a note into the store, finds it again and removes it, so that nothing of it stays. */
import { Annotation, type LangGraphRunnableConfig, StateGraph } from "@langchain/langgraph"

const State = Annotation.Root({ owner: Annotation<string>, text: Annotation<string>, found: Annotation<string[]> })

async function keep({ owner, text }: typeof State.State, { store }: LangGraphRunnableConfig) {
  if (!store) throw new Error("there is no store")
  await store.put(["notes", owner], "only", { text })
  const hits = await store.search(["notes", owner], { filter: { text } })
  await store.delete(["notes", owner], "only")
  return { found: hits.map(({ value }) => String(value.text)) }
}

export const graph = new StateGraph(State)
  .addNode("keep", keep)
  .addEdge("__start__", "keep")
  .addEdge("keep", "__end__")
  .compile()
