/** A model that streams the requested number of tokens, as fast as possible or at a steady pace. */
import { setTimeout as sleep } from "node:timers/promises"
import { BaseChatModel } from "@langchain/core/language_models/chat_models"
import { AIMessage, AIMessageChunk } from "@langchain/core/messages"
import { ChatGenerationChunk } from "@langchain/core/outputs"
import { MessagesAnnotation, StateGraph } from "@langchain/langgraph"

/** The last message's text is the number of tokens, optionally with a pause: `10 every 1000` (milliseconds). Token i is `ti `. */
function askedFor(messages) {
  const [count, , pauseMs] = String(messages.at(-1)?.content).split(" ")
  const tokens = Array.from({ length: Number(count) }, (_, index) => `t${index} `)
  return { tokens, pauseMs: Number(pauseMs ?? 0) }
}

class ScriptedModel extends BaseChatModel {
  _llmType() {
    return "scripted"
  }

  async _generate(messages) {
    const text = askedFor(messages).tokens.join("")
    return { generations: [{ text, message: new AIMessage(text) }] }
  }

  async *_streamResponseChunks(messages, _options, runManager) {
    const { tokens, pauseMs } = askedFor(messages)
    for (const [index, text] of tokens.entries()) {
      if (pauseMs > 0 && index > 0) await sleep(pauseMs)
      const chunk = new ChatGenerationChunk({ text, message: new AIMessageChunk(text) })
      yield chunk
      await runManager?.handleLLMNewToken(text, undefined, undefined, undefined, undefined, { chunk })
    }
  }
}

const model = new ScriptedModel({})

const speak = async ({ messages }) => ({ messages: [await model.invoke(messages)] })

export const graph = new StateGraph(MessagesAnnotation)
  .addNode("speak", speak)
  .addEdge("__start__", "speak")
  .addEdge("speak", "__end__")
  .compile()
