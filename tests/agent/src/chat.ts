/** A scripted model: every mode of streaming has something to show, without a key or a network. */
import { dispatchCustomEvent } from "@langchain/core/callbacks/dispatch"
import { FakeListChatModel } from "@langchain/core/utils/testing"
import { type LangGraphRunnableConfig, MessagesAnnotation, StateGraph } from "@langchain/langgraph"
import { version } from "./version.js"

const model = new FakeListChatModel({ responses: [`hello from ${version}`] })

async function answer(state: typeof MessagesAnnotation.State, config: LangGraphRunnableConfig) {
  config.writer?.({ version })
  await dispatchCustomEvent("thinking", { version }, config)
  // Not streamed here: its tokens are messages all the same.
  const message = await model.withConfig({ tags: ["answer"] }).invoke(state.messages, config)
  return { messages: [message] }
}

export const graph = new StateGraph(MessagesAnnotation)
  .addNode("answer", answer)
  .addEdge("__start__", "answer")
  .addEdge("answer", "__end__")
  .compile()
