/** A help desk that asks before it refunds: what the console shows of runs and approvals. It asks no model; its messages say what one would. */
import { existsSync } from "node:fs"
import { setTimeout as sleep } from "node:timers/promises"
import { AIMessage, HumanMessage } from "@langchain/core/messages"
import {
  Annotation,
  interrupt,
  type LangGraphRunnableConfig,
  MessagesAnnotation,
  StateGraph,
} from "@langchain/langgraph"

const State = Annotation.Root({
  ...MessagesAnnotation.spec,
  amount: Annotation<number>,
  /** `refund`, `damage` (the second step fails), or `wait` (until the file `configurable.gate` exists). */
  wish: Annotation<string>,
  refunded: Annotation<number>,
})
type State = typeof State.State

const says = (content: string, output: number, toolCalls: AIMessage["tool_calls"] = []) =>
  new AIMessage({
    content,
    tool_calls: toolCalls,
    usage_metadata: { input_tokens: 40, output_tokens: output, total_tokens: 40 + output },
    response_metadata: { model_name: "desk-model" },
  })

const plan = ({ amount }: State) => ({
  messages: [
    new HumanMessage(`Please refund ${amount} euros.`),
    says("Let me look that up.", 12, [{ id: "c1", name: "look_up", args: { amount } }]),
  ],
})

async function lookUp({ wish }: State, { configurable, signal }: LangGraphRunnableConfig) {
  if (wish === "damage") throw new RangeError("the ledger has no such order")
  while (wish === "wait" && !existsSync(String(configurable?.gate))) await sleep(5, undefined, signal ? { signal } : {})
  return {}
}

interface InboxAnswer {
  readonly type: string
  readonly args: { readonly args?: { readonly amount: number } } | null
}

function review({ amount, wish }: State) {
  if (wish !== "refund") return { refunded: 0 }
  const [answer] = interrupt([
    {
      action_request: { action: "refund", args: { amount } },
      config: { allow_accept: true, allow_edit: true, allow_respond: true, allow_ignore: true },
      description: `The customer asks for **${amount} euros** back.`,
    },
  ]) as InboxAnswer[]
  return { refunded: answer?.type === "accept" || answer?.type === "edit" ? (answer.args?.args?.amount ?? 0) : 0 }
}

const reply = ({ refunded }: State) => ({
  messages: [says(refunded > 0 ? `You get ${refunded} euros back.` : "There will be no refund.", 9)],
})

export const graph = new StateGraph(State)
  .addNode("plan", plan)
  .addNode("look_up", lookUp)
  .addNode("check_policy", () => ({}))
  .addNode("review", review)
  .addNode("reply", reply)
  .addEdge("__start__", "plan")
  .addEdge("plan", "look_up")
  .addEdge("plan", "check_policy")
  .addEdge("look_up", "review")
  .addEdge("check_policy", "review")
  .addEdge("review", "reply")
  .addEdge("reply", "__end__")
  .compile()
