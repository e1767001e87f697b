/** What the scripted model says and which tool it calls: a plain function of the conversation. */
import type { BaseMessage } from "@langchain/core/messages"
import type { Order } from "./tools.js"

export interface Reply {
  readonly text: string
  readonly call?: { readonly name: string; readonly args: object }
}

export function reply(messages: readonly BaseMessage[]): Reply {
  const last = messages.at(-1)
  if (last?.getType() === "tool") return afterTool(String(last.name), last.text, messages)
  return afterPerson(last?.text ?? "")
}

function afterPerson(said: string): Reply {
  const order_id = /\b(\d{4})\b/.exec(said)?.[1]
  if (order_id === undefined) return { text: "Which order is it about? Try 1042 or 1043." }
  return { text: `Let me look at order ${order_id}. `, call: { name: "look_up_order", args: { order_id } } }
}

function afterTool(name: string, result: string, messages: readonly BaseMessage[]): Reply {
  if (name === "refund_order") return { text: `${result} Is there anything else?` }
  const order: Partial<Order> = JSON.parse(result)
  if (order.id === undefined) return { text: "I cannot find that order. Try 1042 or 1043." }
  const facts = `Order ${order.id} is ${order.item} for ${order.paid} euros, ${order.delivered ? "delivered" : "on its way"}.`
  if (!wantsRefund(messages)) return { text: `${facts} Say "refund ${order.id}" to send it back.` }
  const args = { order_id: order.id, amount: order.paid }
  return { text: `${facts} I ask a colleague about the refund. `, call: { name: "refund_order", args } }
}

function wantsRefund(messages: readonly BaseMessage[]): boolean {
  const said = messages.filter((message) => message.getType() === "human").at(-1)?.text ?? ""
  return /\b(refund|money back|send .*back)\b/i.test(said)
}
