/** A model that streams as many tokens as it is asked for, without a pause. */
import { BaseChatModel } from "@langchain/core/language_models/chat_models"
import { AIMessage, AIMessageChunk } from "@langchain/core/messages"
import { ChatGenerationChunk } from "@langchain/core/outputs"
import { MessagesAnnotation, StateGraph } from "@langchain/langgraph"

/** The count is the last message's text; token number i is `ti `. */
const tokensFor = (messages) =>
  Array.from({ length: Number.parseInt(String(messages.at(-1)?.content), 10) }, (_, index) => `t${index} `)

class ScriptedModel extends BaseChatModel {
  _llmType() {
    return "scripted"
  }

  async _generate(messages) {
    const text = tokensFor(messages).join("")
    return { generations: [{ text, message: new AIMessage(text) }] }
  }

  async *_streamResponseChunks(messages, _options, runManager) {
    for (const text of tokensFor(messages)) {
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
