/** What the agent can do. */
import { tool } from "@langchain/core/tools"
import { z } from "zod"

export interface Order {
  readonly id: string
  readonly item: string
  /** In whole euros. */
  readonly paid: number
  readonly delivered: boolean
}

const orders: readonly Order[] = [
  { id: "1042", item: "a kettle", paid: 49, delivered: true },
  { id: "1043", item: "a lamp", paid: 120, delivered: false },
]

export function findOrder(id: string): Order | undefined {
  return orders.find((order) => order.id === id)
}

export const lookUpOrder = tool(({ order_id }) => JSON.stringify(findOrder(order_id) ?? { error: "no such order" }), {
  name: "look_up_order",
  description: "What was ordered, what was paid and whether it has arrived.",
  schema: z.object({ order_id: z.string() }),
})

/** Moves money. Nothing calls it but the last step of the refund subgraph, after a person has said yes. */
export const refundOrder = tool(({ order_id, amount }) => `${amount} euros went back for order ${order_id}.`, {
  name: "refund_order",
  description: "Pays an order back. A person has to approve it.",
  schema: z.object({ order_id: z.string(), amount: z.number().positive() }),
})
