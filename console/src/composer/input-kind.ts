/** Whether a graph is talked to, or filled in. Pure. */
import type { InputSchema } from "../assistants/agent-graph.js"

/** @returns the key that takes messages if a message is all that a run needs; undefined for another kind of graph */
export function chatKeyOf(schema: InputSchema | null | undefined): string | undefined {
  const { properties = {}, required = [] } = schema ?? {}
  const key =
    "messages" in properties ? "messages" : Object.keys(properties).find((name) => areMessages(properties[name]))
  if (key === undefined || !areMessages(properties[key])) return undefined
  return required.every((name) => name === key) ? key : undefined
}

function areMessages(property: unknown): boolean {
  if (typeof property !== "object" || property === null) return false
  const { langgraph_type, type, title, anyOf } = property as Record<string, unknown>
  return langgraph_type === "messages" || (title === "Messages" && (type === "array" || Array.isArray(anyOf)))
}
