/**
 * A chat model that follows a script instead of asking a provider. To LangChain it is a model like any other: it streams
 * its answer in pieces, and it stops when the run is cancelled.
 */
import { setTimeout as sleep } from "node:timers/promises"
import type { CallbackManagerForLLMRun } from "@langchain/core/callbacks/manager"
import { type BaseChatModelCallOptions, SimpleChatModel } from "@langchain/core/language_models/chat_models"
import { AIMessageChunk, type BaseMessage } from "@langchain/core/messages"
import { ChatGenerationChunk } from "@langchain/core/outputs"
import { answer } from "./script.js"

/** Milliseconds between two words, so that the stream can be seen. */
const pauseMs = Number(process.env.CHAT_PAUSE_MS ?? 40)

export class ScriptedModel extends SimpleChatModel {
  _llmType(): string {
    return "scripted"
  }

  /** For callers that want the answer in one piece. */
  async _call(messages: BaseMessage[]): Promise<string> {
    return answer(messages)
  }

  /** For callers that listen: one word at a time, with the space that follows it. */
  override async *_streamResponseChunks(
    messages: BaseMessage[],
    options: BaseChatModelCallOptions,
    runManager?: CallbackManagerForLLMRun,
  ): AsyncGenerator<ChatGenerationChunk> {
    for (const word of answer(messages).match(/\S+\s*/g) ?? []) {
      await sleep(pauseMs, undefined, { signal: options.signal })
      const chunk = new ChatGenerationChunk({ text: word, message: new AIMessageChunk({ content: word }) })
      yield chunk
      // LangGraph's `messages` stream listens here.
      await runManager?.handleLLMNewToken(word, undefined, undefined, undefined, undefined, { chunk })
    }
  }
}
