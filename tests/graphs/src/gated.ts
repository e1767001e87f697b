/** Each node says that it has begun. Two of them go on when the file `gate` is there: one here, one in a subgraph. */
import { existsSync } from "node:fs"
import { setTimeout as sleep } from "node:timers/promises"
import { Annotation, type LangGraphRunnableConfig, StateGraph } from "@langchain/langgraph"

const State = Annotation.Root({
  log: Annotation<string[]>({ reducer: (log, lines) => log.concat(lines), default: () => [] }),
})

const node = (name: string) => (_state: typeof State.State, config: LangGraphRunnableConfig) => {
  config.writer?.({ began: name })
  return { log: [name] }
}

const gated = (name: string) => async (state: typeof State.State, config: LangGraphRunnableConfig) => {
  const update = node(name)(state, config)
  while (!existsSync(`${config.configurable?.gate}.${name}`)) await sleep(5, undefined, { signal: config.signal })
  return update
}

const sub = new StateGraph(State)
  .addNode("inner", gated("inner"))
  .addNode("innermost", node("innermost"))
  .addEdge("__start__", "inner")
  .addEdge("inner", "innermost")
  .compile()

export const graph = new StateGraph(State)
  .addNode("first", gated("first"))
  // A function that calls a graph: it would begin again if that one ended half way.
  .addNode("second", async (_state, config) => {
    config.writer?.({ began: "second" })
    const { log } = await sub.invoke({ log: [] }, config)
    return { log: ["second", ...log] }
  })
  .addNode("third", node("third"))
  .addEdge("__start__", "first")
  .addEdge("first", "second")
  .addEdge("second", "third")
  .compile()

const Question = Annotation.Root({ question: Annotation<string>, answer: Annotation<string> })
const Round = Annotation.Root({ ...State.spec, ...Question.spec })

/** A subgraph that keeps its own checkpoints from round to round, as a subagent with a memory does. */
const answering = new StateGraph(Question)
  .addNode("reply", ({ question }) => ({ answer: `reply to ${question}` }))
  .addEdge("__start__", "reply")
  .compile({ checkpointer: true })

/** Two rounds in each run. */
export const rounds = new StateGraph(Round)
  // Waits for the gate of its round.
  .addNode("ask", async (state, config) => {
    const question = `round ${state.log.length}`
    await gated(question)(state, config)
    return { question }
  })
  .addNode("sub", answering)
  .addNode("note", ({ answer }) => ({ log: [answer] }))
  .addEdge("__start__", "ask")
  .addEdge("ask", "sub")
  .addEdge("sub", "note")
  .addConditionalEdges("note", ({ log }) => (log.length % 2 === 1 ? "ask" : "__end__"))
  .compile()
