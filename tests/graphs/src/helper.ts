/** An agent that hands its question to a subagent, with a tool named `task` as deep agents have it. */
import { AIMessage, type BaseMessage, HumanMessage } from "@langchain/core/messages"
import { tool } from "@langchain/core/tools"
import { FakeListChatModel } from "@langchain/core/utils/testing"
import { type LangGraphRunnableConfig, MessagesAnnotation, StateGraph } from "@langchain/langgraph"
import { ToolNode } from "@langchain/langgraph/prebuilt"
import { z } from "zod"

const model = new FakeListChatModel({ responses: ["Forty-two."] })

const researcher = new StateGraph(MessagesAnnotation)
  .addNode("model", async ({ messages }) => ({ messages: [await model.invoke(messages)] }))
  .addEdge("__start__", "model")
  .addEdge("model", "__end__")
  .compile()

const task = tool(
  async ({ description }, config: LangGraphRunnableConfig) => {
    const { messages } = await researcher.invoke({ messages: [new HumanMessage(description)] }, config)
    return String(messages.at(-1)?.content)
  },
  {
    name: "task",
    description: "Hands a task to a subagent.",
    schema: z.object({ description: z.string(), subagent_type: z.string() }),
  },
)

const isAsked = (messages: readonly BaseMessage[]) => messages.at(-1) instanceof HumanMessage

export const graph = new StateGraph(MessagesAnnotation)
  .addNode("agent", ({ messages }) => {
    if (!isAsked(messages)) return { messages: [new AIMessage(`They say: ${messages.at(-1)?.content}`)] }
    const args = { description: String(messages.at(-1)?.content), subagent_type: "researcher" }
    return { messages: [new AIMessage({ content: "", tool_calls: [{ id: "call_1", name: "task", args }] })] }
  })
  .addNode("tools", new ToolNode([task]))
  .addEdge("__start__", "agent")
  .addConditionalEdges(
    "agent",
    ({ messages }) => ((messages.at(-1) as AIMessage).tool_calls?.length ? "tools" : "__end__"),
    ["tools", "__end__"],
  )
  .addEdge("tools", "agent")
  .compile()
