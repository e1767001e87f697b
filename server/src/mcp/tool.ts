/** Renders assistants as MCP tools. Pure. */

export interface NamedAssistant {
  readonly assistant_id: string
  readonly name: string
}

// The characters that MCP's specification allows in a tool's name, and the length that model providers allow.
const maxNameLength = 64

const sanitised = (name: string): string =>
  name
    .normalize("NFKD")
    .replace(/\p{M}/gu, "")
    .replace(/[^A-Za-z0-9_-]+/g, "_")
    .slice(0, maxNameLength) || "assistant"

/**
 * Gives each assistant a unique tool name. If several assistants would have the same name, the oldest keeps it and the
 * others get their id as a suffix, so a new assistant never takes the name of an older one.
 * @param assistants  oldest first
 */
export function toolsByName<Assistant extends NamedAssistant>(
  assistants: readonly Assistant[],
): Map<string, Assistant> {
  const tools = new Map<string, Assistant>()
  for (const assistant of assistants) {
    const name = sanitised(assistant.name)
    const own = tools.has(name)
      ? `${name.slice(0, maxNameLength - 33)}_${assistant.assistant_id.replaceAll("-", "")}`
      : name
    tools.set(own, assistant)
  }
  return tools
}

/** The input schema of a tool. MCP requires type "object"; for any other schema this returns one that accepts all objects. */
export function inputSchemaOf(schema: unknown): { type: "object"; [key: string]: unknown } {
  const isObject = typeof schema === "object" && schema !== null && "type" in schema && schema.type === "object"
  return isObject ? { ...schema, type: "object" } : { type: "object", additionalProperties: true }
}

const pageSize = 50

/** @returns undefined for an invalid cursor */
export function pageOf<Entry>(entries: readonly Entry[], cursor: string | undefined) {
  const from = cursor === undefined ? 0 : /^\d{1,9}$/.test(cursor) ? Number(cursor) : undefined
  if (from === undefined || (from > 0 && from >= entries.length)) return undefined
  const to = from + pageSize
  return { page: entries.slice(from, to), ...(to < entries.length && { nextCursor: String(to) }) }
}
