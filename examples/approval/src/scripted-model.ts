/**
 * A chat model with tools that follows a script instead of asking a provider: it looks the order up, asks for the refund
 * and tells how that went. It streams words and tool calls in pieces, as providers do.
 */
import { setTimeout as sleep } from "node:timers/promises"
import type { CallbackManagerForLLMRun } from "@langchain/core/callbacks/manager"
import { BaseChatModel, type BaseChatModelCallOptions } from "@langchain/core/language_models/chat_models"
import { AIMessageChunk, type BaseMessage } from "@langchain/core/messages"
import { ChatGenerationChunk, type ChatResult } from "@langchain/core/outputs"
import { type Reply, reply } from "./script.js"

/** Milliseconds between two pieces, so that the stream can be seen. */
const pauseMs = Number(process.env.APPROVAL_PAUSE_MS ?? 40)

export class ScriptedModel extends BaseChatModel {
  _llmType(): string {
    return "scripted"
  }

  /** The script knows its tools already. */
  override bindTools(_tools: unknown[]): this {
    return this
  }

  async _generate(messages: BaseMessage[]): Promise<ChatResult> {
    const message = pieces(reply(messages)).reduce((whole, piece) => whole.concat(piece))
    return { generations: [{ text: message.text, message }] }
  }

  override async *_streamResponseChunks(
    messages: BaseMessage[],
    options: BaseChatModelCallOptions,
    runManager?: CallbackManagerForLLMRun,
  ): AsyncGenerator<ChatGenerationChunk> {
    for (const message of pieces(reply(messages))) {
      await sleep(pauseMs, undefined, { signal: options.signal })
      const chunk = new ChatGenerationChunk({ text: message.text, message })
      yield chunk
      // LangGraph's `messages` stream listens here.
      await runManager?.handleLLMNewToken(chunk.text, undefined, undefined, undefined, undefined, { chunk })
    }
  }
}

/** The words one by one, then the tool call: its name first, its arguments after that. */
function pieces({ text, call }: Reply): AIMessageChunk[] {
  const words = (text.match(/\S+\s*/g) ?? []).map((word) => new AIMessageChunk({ content: word }))
  if (call === undefined) return words
  const id = `call_${crypto.randomUUID()}`
  const parts = [{ id, name: call.name, args: "" }, { args: JSON.stringify(call.args) }]
  return words.concat(
    parts.map((part) => {
      const chunk = { type: "tool_call_chunk" as const, index: 0, ...part }
      return new AIMessageChunk({ content: "", tool_call_chunks: [chunk] })
    }),
  )
}
