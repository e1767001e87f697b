/** Writes a letter in two steps, in the tone of its context, and asks twice when the letter is to be signed. */
import { AIMessage, type BaseMessage } from "@langchain/core/messages"
import {
  Annotation,
  interrupt,
  type LangGraphRunnableConfig,
  MessagesAnnotation,
  StateGraph,
} from "@langchain/langgraph"

const Settings = Annotation.Root({ tone: Annotation<string | undefined>, model: Annotation<"small" | "large"> })
type State = typeof MessagesAnnotation.State

function draft({ messages }: State, { context }: LangGraphRunnableConfig) {
  const { tone = "plain" } = (context ?? {}) as { tone?: string }
  return { messages: [new AIMessage(`A ${tone} draft about ${saidIn(messages.at(-1))}.`)] }
}

/** Two questions of one task: LangGraph gives both the same id. */
function send({ messages }: State) {
  const asked = messages.findLast((message) => message.getType() === "human")
  if (!saidIn(asked).includes("sign")) return { messages: [new AIMessage("Sent.")] }
  const name: unknown = interrupt({ question: "Who signs?" })
  const isSure: unknown = interrupt({ question: `Sign as ${name}?` })
  return { messages: [new AIMessage(isSure ? `Signed by ${name}.` : "Not signed.")] }
}

/** The text, and how many files are with it. */
function saidIn(message: BaseMessage | undefined): string {
  if (!message || typeof message.content === "string") return String(message?.content)
  const texts = message.content.flatMap((part) => ("text" in part && part.type === "text" ? [String(part.text)] : []))
  return `${texts.join(" ")} with ${message.content.length - texts.length} files`
}

export const graph = new StateGraph(MessagesAnnotation, Settings)
  .addNode("draft", draft)
  .addNode("send", send)
  .addEdge("__start__", "draft")
  .addEdge("draft", "send")
  .addEdge("send", "__end__")
  .compile()
