/**
 * The dangerous part, as a graph of its own: check the rules, ask a person, pay.
 *
 * `interrupt` stops the run here, whatever the process or the machine does meanwhile. The answer comes with the next run
 * of the thread, as `command.resume`, and is what `interrupt` returns then.
 */
import { type AIMessage, ToolMessage } from "@langchain/core/messages"
import type { ToolCall } from "@langchain/core/messages/tool"
import { Annotation, END, interrupt, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph"
import { findOrder, refundOrder } from "./tools.js"

/** What the person is shown. */
interface Question {
  readonly question: string
  readonly order_id: string
  readonly amount: number
}

/** What they may answer: yes or no, or yes to another amount. */
type Answer = boolean | { readonly approved: boolean; readonly amount?: number }

const State = Annotation.Root({
  ...MessagesAnnotation.spec,
  /** What is to be paid, once a person has agreed. */
  amount: Annotation<number>,
  /** Why nothing is paid, when that is so. */
  refusal: Annotation<string | null>,
})

export const refund = new StateGraph(State)
  .addNode("check", check)
  .addNode("ask", ask)
  .addNode("pay", pay)
  .addNode("report", report)
  .addEdge(START, "check")
  .addConditionalEdges("check", ({ refusal }) => (refusal === null ? "ask" : "report"), ["ask", "report"])
  .addConditionalEdges("ask", ({ refusal }) => (refusal === null ? "pay" : "report"), ["pay", "report"])
  .addEdge("pay", END)
  .addEdge("report", END)
  .compile()

/** Rules that need no person. */
function check({ messages }: typeof State.State) {
  const { order_id, amount } = refundCall(messages).args
  const order = findOrder(order_id)
  if (order === undefined) return { refusal: `There is no order ${order_id}.` }
  if (amount > order.paid) return { refusal: `Only ${order.paid} euros were paid for order ${order_id}.` }
  return { refusal: null, amount }
}

/** The run stops in here until somebody answers. */
function ask({ messages, amount }: typeof State.State) {
  const { order_id } = refundCall(messages).args
  const answer = interrupt<Question, Answer>({ question: `Refund ${amount} euros?`, order_id, amount })
  const { approved, amount: agreed = amount } = typeof answer === "object" ? answer : { approved: answer }
  return approved ? { amount: agreed } : { refusal: "A person declined the refund." }
}

/** A step of its own: after a crash the person is not asked again. */
async function pay({ messages, amount }: typeof State.State) {
  const call = refundCall(messages)
  return { messages: [await refundOrder.invoke({ ...call, type: "tool_call", args: { ...call.args, amount } })] }
}

function report({ messages, refusal }: typeof State.State) {
  const { id = "", name } = refundCall(messages)
  return { messages: [new ToolMessage({ tool_call_id: id, name, content: refusal ?? "", status: "error" })] }
}

function refundCall(messages: typeof State.State.messages): ToolCall {
  const call = (messages.at(-1) as AIMessage | undefined)?.tool_calls?.find(({ name }) => name === refundOrder.name)
  if (call === undefined) throw new Error("the refund graph was entered without a call of refund_order")
  return call
}
