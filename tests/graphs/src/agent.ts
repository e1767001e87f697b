import type { CallbackManagerForLLMRun } from "@langchain/core/callbacks/manager"
import { BaseChatModel } from "@langchain/core/language_models/chat_models"
import { AIMessageChunk, type BaseMessage, ToolMessage } from "@langchain/core/messages"
import { ChatGenerationChunk, type ChatResult } from "@langchain/core/outputs"
import { tool } from "@langchain/core/tools"
import { MessagesAnnotation, StateGraph } from "@langchain/langgraph"
import { ToolNode } from "@langchain/langgraph/prebuilt"
import { z } from "zod"

/** Fields of a chunk; the class's own type of them forbids usage metadata. */
type Piece = object

const chunkOf = (piece: Piece) => new AIMessageChunk(piece as ConstructorParameters<typeof AIMessageChunk>[0])

const asksForTool: Piece[] = [
  { content: "", tool_call_chunks: [{ type: "tool_call_chunk", index: 0, id: "call_1", name: "add", args: "" }] },
  { content: "", tool_call_chunks: [{ type: "tool_call_chunk", index: 0, args: '{"a":1,' }] },
  { content: "", tool_call_chunks: [{ type: "tool_call_chunk", index: 0, args: '"b":2}' }] },
  {
    content: "",
    usage_metadata: { input_tokens: 3, output_tokens: 4, total_tokens: 7 },
    response_metadata: { finish_reason: "tool_calls", model_name: "scripted-1" },
  },
]

const answers: Piece[] = [
  { content: "The " },
  { content: "sum is 3." },
  {
    content: "",
    usage_metadata: { input_tokens: 9, output_tokens: 3, total_tokens: 12 },
    response_metadata: { finish_reason: "stop", model_name: "scripted-1" },
  },
]

/** Asks for a tool first and answers when it has a result. */
export class ScriptedModel extends BaseChatModel {
  _llmType(): string {
    return "scripted"
  }

  override bindTools(): this {
    return this
  }

  async _generate(messages: BaseMessage[]): Promise<ChatResult> {
    const message = script(messages)
      .map(chunkOf)
      .reduce((sum, chunk) => sum.concat(chunk))
    return { generations: [{ text: String(message.content), message }] }
  }

  override async *_streamResponseChunks(
    messages: BaseMessage[],
    _options: this["ParsedCallOptions"],
    runManager?: CallbackManagerForLLMRun,
  ): AsyncGenerator<ChatGenerationChunk> {
    for (const piece of script(messages)) {
      const message = chunkOf(piece)
      const generation = new ChatGenerationChunk({ message, text: String(message.content) })
      yield generation
      await runManager?.handleLLMNewToken(generation.text, undefined, undefined, undefined, undefined, {
        chunk: generation,
      })
    }
  }
}

function script(messages: readonly BaseMessage[]): Piece[] {
  return messages.at(-1) instanceof ToolMessage ? answers : asksForTool
}

const add = tool(({ a, b }) => String(a + b), {
  name: "add",
  description: "Adds two numbers.",
  schema: z.object({ a: z.number(), b: z.number() }),
})

const model = new ScriptedModel({})

export const graph = new StateGraph(MessagesAnnotation)
  .addNode("agent", async ({ messages }) => ({ messages: [await model.invoke(messages)] }))
  .addNode("tools", new ToolNode([add]))
  .addEdge("__start__", "agent")
  .addConditionalEdges("agent", ({ messages }) => (wantsTool(messages.at(-1)) ? "tools" : "__end__"), [
    "tools",
    "__end__",
  ])
  .addEdge("tools", "agent")
  .compile()

function wantsTool(message: BaseMessage | undefined): boolean {
  return (
    message !== undefined &&
    "tool_calls" in message &&
    Array.isArray(message.tool_calls) &&
    message.tool_calls.length > 0
  )
}
