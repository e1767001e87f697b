import { setTimeout as sleep } from "node:timers/promises"
import { Annotation, interrupt, type LangGraphRunnableConfig, StateGraph } from "@langchain/langgraph"
import { z } from "zod"

const State = Annotation.Root({ x: Annotation<number>, y: Annotation<string> })

export const graph = new StateGraph(State)
  .addNode("ask", () => ({ y: String(interrupt({ question: "continue?" })) }))
  .addNode("after", ({ x, y }) => ({ x: x + y.length }))
  .addEdge("__start__", "ask")
  .addEdge("ask", "after")
  .addEdge("after", "__end__")
  .compile()

const Outages = Annotation.Root({ interrupts: Annotation<string[]>, seen: Annotation<string> })

/** Its state has a key that is not about questions. */
export const outages = new StateGraph(Outages)
  .addNode("report", (_, { writer }: LangGraphRunnableConfig) => {
    writer?.({ payload: { interrupts: ["power"] } })
    return { interrupts: ["power"] }
  })
  .addNode("watch", () => ({ seen: "all" }))
  .addEdge("__start__", "report")
  .addEdge("report", "watch")
  .addEdge("watch", "__end__")
  .compile()

const Answers = Annotation.Root({
  out: Annotation<string[]>({ reducer: (out, lines) => out.concat(lines), default: () => [] }),
})

export const two = new StateGraph(Answers)
  .addNode("a", () => ({ out: [`a:${interrupt({ q: "a?" })}`] }))
  .addNode("b", () => ({ out: [`b:${interrupt({ q: "b?" })}`] }))
  .addEdge("__start__", "a")
  .addEdge("__start__", "b")
  .addEdge("a", "__end__")
  .addEdge("b", "__end__")
  .compile()

/** Two questions of one node. */
export const twice = new StateGraph(Answers)
  .addNode("ask", () => ({ out: [`${interrupt({ q: "first?" })}, ${interrupt({ q: "second?" })}`] }))
  .addEdge("__start__", "ask")
  .addEdge("ask", "__end__")
  .compile()

// LangGraph before 1.7 knows no options.
const askFor = interrupt as (question: unknown, options: object) => { n: number }

/** Says what kind of answer it takes. */
export const choice = new StateGraph(Answers)
  .addNode("ask", () => ({ out: [`${askFor({ q: "how many?" }, { responseSchema: z.object({ n: z.number() }) }).n}`] }))
  .addEdge("__start__", "ask")
  .addEdge("ask", "__end__")
  .compile()

/** Two questions, one after the other. */
export const chain = new StateGraph(Answers)
  .addNode("a", () => ({ out: [`a:${interrupt({ q: "a?" })}`] }))
  .addNode("b", () => ({ out: [`b:${interrupt({ q: "b?" })}`] }))
  .addEdge("__start__", "a")
  .addEdge("a", "b")
  .addEdge("b", "__end__")
  .compile()

/** A graph of a graph with two questions, and a pause between them. */
export const deepChain = new StateGraph(Answers)
  .addNode(
    "sub",
    new StateGraph(Answers)
      .addNode("a", () => ({ out: [`a:${interrupt({ q: "a?" })}`] }))
      .addNode("pause", async (_, { writer, signal, configurable }: LangGraphRunnableConfig) => {
        writer?.({ began: "pause" })
        await sleep(configurable?.pause_ms, undefined, { signal })
        return { out: ["pause"] }
      })
      .addNode("b", () => ({ out: [`b:${interrupt({ q: "b?" })}`] }))
      .addEdge("__start__", "a")
      .addEdge("a", "pause")
      .addEdge("pause", "b")
      .addEdge("b", "__end__")
      .compile(),
  )
  .addEdge("__start__", "sub")
  .addEdge("sub", "__end__")
  .compile()

/** One node asks while another one fails. */
export const half = new StateGraph(Answers)
  .addNode("ask", () => ({ out: [`${interrupt({ q: "go on?" })}`] }))
  .addNode("fail", async () => {
    await sleep(100)
    throw new TypeError("node exploded")
  })
  .addEdge("__start__", "ask")
  .addEdge("__start__", "fail")
  .addEdge("ask", "__end__")
  .addEdge("fail", "__end__")
  .compile()

/** The question is asked in a graph of a graph. */
export const deep = new StateGraph(State)
  .addNode("sub", graph)
  .addEdge("__start__", "sub")
  .addEdge("sub", "__end__")
  .compile()
