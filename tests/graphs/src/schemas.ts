/** Graphs whose schemas are told in different ways, and graphs inside graphs. */
import type { BaseMessage } from "@langchain/core/messages"
import {
  Annotation,
  MessagesAnnotation,
  MessagesValue,
  MessagesZodMeta,
  ReducedValue,
  StateGraph,
  StateSchema,
} from "@langchain/langgraph"
import { withLangGraph } from "@langchain/langgraph/zod"
import { z } from "zod"

const Typed = new StateSchema({
  messages: MessagesValue,
  step: z.string(),
  log: new ReducedValue(
    z.array(z.string()).default(() => []),
    { inputSchema: z.string(), reducer: (log, line) => [...log, line] },
  ),
})

export const typed = new StateGraph(Typed)
  .addNode("say", () => ({ step: "said", log: "said" }))
  .addEdge("__start__", "say")
  .addEdge("say", "__end__")
  .compile()

const Registered = z.object({
  messages: withLangGraph(z.custom<BaseMessage[]>(), MessagesZodMeta),
  topic: z.string(),
})

export const registered = new StateGraph(Registered)
  .addNode("write", () => ({ topic: "written" }))
  .addEdge("__start__", "write")
  .addEdge("write", "__end__")
  .compile()

interface Task {
  /** What is to be done. */
  title: string
  state: "open" | "done"
  due?: Date
  parts: Task[]
}

const Deep = Annotation.Root({
  ...MessagesAnnotation.spec,
  task: Annotation<Task>,
  scores: Annotation<Record<string, number | null>>({ reducer: (_, scores) => scores, default: () => ({}) }),
})

const Inner = Annotation.Root({ depth: Annotation<number> })
const Settings = Annotation.Root({ model: Annotation<"small" | "large">, limit: Annotation<number | undefined> })

const innermost = new StateGraph(Inner)
  .addNode("sink", ({ depth }) => ({ depth: depth + 1 }))
  .addNode("rest", () => ({}))
  .addEdge("__start__", "sink")
  .addEdge("sink", "rest")
  .addEdge("rest", "__end__")
  .compile()

const middle = new StateGraph(Typed)
  .addNode("below", innermost as never)
  .addNode("after", () => ({}))
  .addEdge("__start__", "below")
  .addEdge("below", "after")
  .addEdge("after", "__end__")
  .compile()

const plain = new StateGraph(Inner)
  .addNode("one", () => ({ depth: 1 }))
  .addNode("two", () => ({ depth: 2 }))
  .addEdge("__start__", "one")
  .addEdge("one", "two")
  .addEdge("two", "__end__")
  .compile()

export const layered = new StateGraph(Deep, Settings)
  .addNode("typed", middle as never)
  .addNode("plain", plain)
  .addEdge("__start__", "typed")
  .addEdge("typed", "plain")
  .addEdge("plain", "__end__")
  .compile()
