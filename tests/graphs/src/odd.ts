import { setTimeout as sleep } from "node:timers/promises"
import { RunnableLambda } from "@langchain/core/runnables"
import { DynamicStructuredTool } from "@langchain/core/tools"
import { FakeListChatModel } from "@langchain/core/utils/testing"
import { Annotation, type LangGraphRunnableConfig, StateGraph } from "@langchain/langgraph"
import { z } from "zod"

const State = Annotation.Root({ what: Annotation<string>, said: Annotation<unknown> })

/** A model that answers all at once. */
class PlainModel extends FakeListChatModel {
  override disableStreaming = true
}

const plain = new PlainModel({ responses: ["all at once"] })

const same = new RunnableLambda({ func: (value: object) => value }).withConfig({ runName: "same" })

/** Its JSON takes long to make. */
class Costly {
  toJSON() {
    const endMs = performance.now() + 150
    while (performance.now() < endMs);
    return "costly"
  }
}

const broken = {
  toJSON() {
    throw new Error("no form")
  },
}

/** LangChain gives handlers its input as it is; that of a `DynamicTool` is an object. */
const say = new DynamicStructuredTool({
  name: "say",
  description: "Says a text.",
  schema: z.string(),
  func: async (text) => text,
})

const oddities: Record<string, (config: LangGraphRunnableConfig) => unknown> = {
  async model(config) {
    const message = await plain.invoke("x", { ...config, tags: ["aside"] })
    return message.content
  },
  values({ writer }) {
    const cyclic: Record<string, unknown> = { name: "ring" }
    cyclic.self = cyclic
    writer?.(cyclic)
    writer?.({
      big: 12345678901234567890n,
      none: Number.NaN,
      map: new Map([["a", 1]]),
      pairs: new Map([[1, "a"]]),
      set: new Set([1, 2]),
      date: new Date(0),
      error: new RangeError("too far"),
      bytes: new Uint8Array([1, 2, 3]),
      line: "one\ntwo\u2028\u0000",
    })
    writer?.(undefined)
    return "said"
  },
  async rejection() {
    void Promise.reject(new Error("nobody awaits this"))
    await sleep(60_000, undefined, { ref: false })
  },
  async timer() {
    setTimeout(() => {
      throw new Error("thrown by a timer")
    }, 1)
    await sleep(60_000, undefined, { ref: false })
  },
  exit() {
    process.exit(3)
  },
  flood({ writer }) {
    for (let i = 0; i < 200; i++) writer?.({ i, padding: "x".repeat(i === 0 ? 500_000 : 20_000) })
    return "flooded"
  },
  burst({ writer }) {
    for (let i = 0; i < 20_000; i++) writer?.({ i })
    return "burst"
  },
  async broken() {
    await same.invoke(broken)
  },
  async costly() {
    for (let i = 0; i < 20; i++) await same.invoke(new Costly())
  },
  async texts() {
    for (const text of ["123", "true", "null", "[1]", '"quoted"', "{no JSON"]) await say.invoke(text)
  },
  async deaf({ writer }) {
    writer?.("deaf")
    await sleep(60_000, undefined, { ref: false })
  },
}

export const graph = new StateGraph(State)
  .addNode("odd", async ({ what }, config: LangGraphRunnableConfig) => ({ said: await oddities[what]?.(config) }))
  .addEdge("__start__", "odd")
  .addEdge("odd", "__end__")
  .compile()
