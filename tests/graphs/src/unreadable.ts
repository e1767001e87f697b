/**
 * Throws an error whose message and stack cannot be read, at the place that `where` names. With `caught`, the node goes on.
 * Its custom events have the same error, and a name that cannot be read.
 */
import { SimpleChatModel } from "@langchain/core/language_models/chat_models"
import { RunnableLambda } from "@langchain/core/runnables"
import { DynamicTool } from "@langchain/core/tools"
import { Annotation, type LangGraphRunnableConfig, StateGraph } from "@langchain/langgraph"

export class Unreadable extends Error {
  constructor() {
    super()
    const get = () => {
      throw new TypeError("this error cannot be read")
    }
    // The stack first: Node makes it at that moment, with the message.
    Object.defineProperty(this, "stack", { get })
    Object.defineProperty(this, "message", { get })
  }
}

const fail = (): never => {
  throw new Unreadable()
}

class FailingModel extends SimpleChatModel {
  _llmType(): string {
    return "failing"
  }

  override async _call(): Promise<string> {
    return fail()
  }
}

const State = Annotation.Root({ caught: Annotation<boolean>, where: Annotation<string | undefined> })

const failing = new RunnableLambda({ func: fail }).withConfig({ runName: "failing" })
const tool = new DynamicTool({ name: "failing_tool", description: "Fails.", func: async () => fail() })
const model = new FailingModel({ maxRetries: 0 })

const places: Readonly<Record<string, (config: LangGraphRunnableConfig) => unknown>> = {
  work: () => failing.invoke({}),
  node: fail,
  tool: () => tool.invoke("x"),
  model: () => model.invoke("x"),
  async rejection() {
    void Promise.reject(new Unreadable())
    await new Promise((resolve) => setTimeout(resolve, 60_000).unref())
  },
  custom({ writer }) {
    writer?.({ name: "told", error: new Unreadable() })
    writer?.(Object.defineProperty({ told: true }, "name", { get: fail, enumerable: true }))
    writer?.(Object.defineProperty({ told: true }, "interrupts", { get: fail }))
    writer?.({ name: Object.create(null), told: true })
  },
}

export const graph = new StateGraph(State)
  .addNode("call", async ({ caught, where = "work" }, config: LangGraphRunnableConfig) => {
    try {
      await places[where]?.(config)
    } catch (error) {
      if (!caught) throw error
    }
    return {}
  })
  .addEdge("__start__", "call")
  .addEdge("call", "__end__")
  .compile()

/** A factory that fails. */
export const makeGraph = fail
