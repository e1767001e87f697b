/** Answers word by word, and says the last one when the file `configurable.gate` is there; asks first, or fails, when told to. */
import { existsSync } from "node:fs"
import { setTimeout as sleep } from "node:timers/promises"
import { BaseChatModel } from "@langchain/core/language_models/chat_models"
import { AIMessageChunk, type BaseMessage } from "@langchain/core/messages"
import { ChatGenerationChunk, type ChatResult } from "@langchain/core/outputs"
import { interrupt, type LangGraphRunnableConfig, MessagesAnnotation, StateGraph } from "@langchain/langgraph"

interface Speech {
  readonly words: readonly string[]
  readonly config: LangGraphRunnableConfig
}

class Talker extends BaseChatModel {
  readonly #speech: Speech

  constructor(speech: Speech) {
    super({})
    this.#speech = speech
  }

  _llmType(): string {
    return "talker"
  }

  async _generate(messages: BaseMessage[]): Promise<ChatResult> {
    let message = new AIMessageChunk("")
    for await (const chunk of this._streamResponseChunks(messages))
      message = message.concat(chunk.message as AIMessageChunk)
    return { generations: [{ text: String(message.content), message }] }
  }

  override async *_streamResponseChunks(
    _messages: BaseMessage[],
    _options?: this["ParsedCallOptions"],
    runManager?: Parameters<BaseChatModel["_streamResponseChunks"]>[2],
  ): AsyncGenerator<ChatGenerationChunk> {
    const { words, config } = this.#speech
    for (const [position, text] of words.entries()) {
      const isLast = position === words.length - 1
      if (isLast) await opened(config)
      const message = new AIMessageChunk(isLast ? lastPiece(text, words.length) : text)
      const chunk = new ChatGenerationChunk({ message, text })
      yield chunk
      await runManager?.handleLLMNewToken(text, undefined, undefined, undefined, undefined, { chunk })
    }
  }
}

/** With the usage; the class's own type of its fields forbids it. */
const lastPiece = (content: string, output: number) =>
  ({
    content,
    usage_metadata: { input_tokens: 40, output_tokens: output, total_tokens: 40 + output },
  }) as ConstructorParameters<typeof AIMessageChunk>[0]

async function opened({ configurable, signal }: LangGraphRunnableConfig): Promise<void> {
  const gate: unknown = configurable?.gate
  if (typeof gate !== "string") return
  while (!existsSync(gate)) await sleep(5, undefined, signal ? { signal } : {})
}

export const graph = new StateGraph(MessagesAnnotation)
  .addNode("answer", async ({ messages }, config: LangGraphRunnableConfig) => {
    const said = String(messages.at(-1)?.content)
    if (said === "fail") throw new RangeError("no words are left")
    const words =
      said === "ask" ? ["You ", "answered ", `${interrupt({ question: "go on?" })}.`] : ["You ", "said ", `${said}.`]
    return { messages: [await new Talker({ words, config }).invoke(messages)] }
  })
  .addEdge("__start__", "answer")
  .addEdge("answer", "__end__")
  .compile()
