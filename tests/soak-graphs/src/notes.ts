/** Puts notes into the store, finds each again and removes it, so that nothing of them stays. */
import { setTimeout as sleep } from "node:timers/promises"
import { Annotation, type LangGraphRunnableConfig, StateGraph } from "@langchain/langgraph"

const State = Annotation.Root({
  owner: Annotation<string>,
  texts: Annotation<string[]>,
  /** How long each note takes, in milliseconds. */
  everyMs: Annotation<number>,
  found: Annotation<string[]>,
})

async function keep({ owner, texts, everyMs = 0 }: typeof State.State, { store }: LangGraphRunnableConfig) {
  if (!store) throw new Error("there is no store")
  const found: string[] = []
  for (const text of texts) {
    await store.put(["notes", owner], "only", { text })
    const hits = await store.search(["notes", owner], { filter: { text } })
    found.push(...hits.map(({ value }) => String(value.text)))
    await store.delete(["notes", owner], "only")
    if (everyMs > 0) await sleep(everyMs)
  }
  return { found }
}

export const graph = new StateGraph(State)
  .addNode("keep", keep)
  .addEdge("__start__", "keep")
  .addEdge("keep", "__end__")
  .compile()
