/** An assistant as a tool of MCP. Pure. */

export interface NamedAssistant {
  readonly assistant_id: string
  readonly name: string
}

// What MCP's specification allows in a tool's name, and how long model providers let one be.
const mostLetters = 64

const sanitised = (name: string): string =>
  name
    .normalize("NFKD")
    .replace(/\p{M}/gu, "")
    .replace(/[^A-Za-z0-9_-]+/g, "_")
    .slice(0, mostLetters) || "assistant"

/**
 * Gives each assistant a name of its own: the first of those that would have the same one keeps it, the others get a part
 * of their id behind it, so a new assistant never takes an older one's name.
 * @param assistants  the oldest first
 */
export function toolsByName<Assistant extends NamedAssistant>(
  assistants: readonly Assistant[],
): Map<string, Assistant> {
  const tools = new Map<string, Assistant>()
  for (const assistant of assistants) {
    const name = sanitised(assistant.name)
    const own = tools.has(name)
      ? `${name.slice(0, mostLetters - 33)}_${assistant.assistant_id.replaceAll("-", "")}`
      : name
    tools.set(own, assistant)
  }
  return tools
}

/** A graph's input schema as MCP wants it: an object, whatever the graph says. */
export function inputSchemaOf(schema: unknown): { type: "object"; [key: string]: unknown } {
  const isObject = typeof schema === "object" && schema !== null && "type" in schema && schema.type === "object"
  return isObject ? { ...schema, type: "object" } : { type: "object", additionalProperties: true }
}

const pageSize = 50

/** @returns undefined for a cursor that is none of ours */
export function pageOf<Entry>(entries: readonly Entry[], cursor: string | undefined) {
  const from = cursor === undefined ? 0 : /^\d{1,9}$/.test(cursor) ? Number(cursor) : undefined
  if (from === undefined || (from > 0 && from >= entries.length)) return undefined
  const to = from + pageSize
  return { page: entries.slice(from, to), ...(to < entries.length && { nextCursor: String(to) }) }
}
