/** Messages of a conversation as blocks that a page can show: text, reasoning, tool calls with their results. Pure. */

/** A message as the SDK's hook gives it (an instance) or as a state has it (plain JSON). */
export interface RawMessage {
  readonly id?: string | undefined
  readonly type?: string | undefined
  readonly role?: string | undefined
  readonly name?: string | undefined
  readonly content?: unknown
  readonly tool_calls?: unknown
  readonly invalid_tool_calls?: unknown
  readonly tool_call_id?: string | undefined
  readonly status?: string | undefined
}

export type Speaker = "human" | "ai" | "system" | "tool"

export interface ToolResult {
  readonly text: string
  readonly isError: boolean
}

export type Block =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "reasoning"; readonly text: string }
  | { readonly kind: "image"; readonly url: string }
  | { readonly kind: "file"; readonly name: string; readonly mimeType: string; readonly url: string }
  | {
      readonly kind: "call"
      readonly id: string
      readonly name: string
      readonly args: unknown
      readonly result?: ToolResult
    }
  | { readonly kind: "other"; readonly value: unknown }

export interface ShownMessage {
  readonly key: string
  readonly id: string | undefined
  readonly speaker: Speaker
  readonly name: string | undefined
  readonly blocks: readonly Block[]
}

/** Results of tools are shown with the call; those without a call stand for themselves. */
export function shownMessages(messages: readonly RawMessage[]): ShownMessage[] {
  const results = new Map<string, ToolResult>()
  const called = new Set<string>()
  for (const message of messages) {
    if (message.tool_call_id !== undefined) results.set(message.tool_call_id, resultOf(message))
    for (const { id } of callsOf(message)) called.add(id)
  }
  return messages.flatMap((message, position) => {
    const speaker = speakerOf(message)
    if (speaker === undefined) return []
    if (speaker === "tool" && called.has(message.tool_call_id ?? "")) return []
    const blocks = [...blocksOf(message.content), ...callsOf(message).map((call) => withResult(call, results))]
    if (blocks.length === 0 && speaker !== "ai") return []
    return { key: message.id ?? `#${position}`, id: message.id, speaker, name: message.name, blocks }
  })
}

/** Each message as the object that it was, while it says the same: while an answer streams, all others stay as they are drawn. Pure. */
export function withFormer(former: readonly ShownMessage[], now: readonly ShownMessage[]): ShownMessage[] {
  const known = new Map(former.map((message) => [message.key, message]))
  return now.map((message) => {
    const before = known.get(message.key)
    return before && isSame(before, message) ? before : message
  })
}

const isSame = (a: ShownMessage, b: ShownMessage): boolean =>
  a.speaker === b.speaker &&
  a.name === b.name &&
  a.blocks.length === b.blocks.length &&
  a.blocks.every((block, position) => isSameBlock(block, b.blocks[position]))

function isSameBlock(a: Block, b: Block | undefined): boolean {
  if (!b || a.kind !== b.kind) return false
  if ("text" in a && "text" in b) return a.text === b.text
  if (a.kind === "call" && b.kind === "call")
    return a.id === b.id && a.name === b.name && a.args === b.args && isSameResult(a.result, b.result)
  if (a.kind === "file" && b.kind === "file" && a.name !== b.name) return false
  return a === b || ("url" in a && "url" in b && a.url === b.url)
}

const isSameResult = (a: ToolResult | undefined, b: ToolResult | undefined): boolean =>
  a?.text === b?.text && a?.isError === b?.isError

const speakers: ReadonlyMap<string, Speaker> = new Map([
  ["human", "human"],
  ["user", "human"],
  ["ai", "ai"],
  ["AIMessageChunk", "ai"],
  ["assistant", "ai"],
  ["system", "system"],
  ["developer", "system"],
  ["tool", "tool"],
  ["function", "tool"],
])

/** @returns undefined for a message that only removes another one */
function speakerOf({ type, role }: RawMessage): Speaker | undefined {
  const kind = type ?? role ?? "ai"
  return kind === "remove" ? undefined : (speakers.get(kind) ?? "ai")
}

const resultOf = ({ content, status }: RawMessage): ToolResult => ({
  text: textOf(content),
  isError: status === "error",
})

const withResult = (call: Call, results: ReadonlyMap<string, ToolResult>): Block => {
  const result = results.get(call.id)
  return { kind: "call", ...call, ...(result && { result }) }
}

interface Call {
  readonly id: string
  readonly name: string
  readonly args: unknown
}

function callsOf({ tool_calls, invalid_tool_calls }: RawMessage): Call[] {
  return [tool_calls, invalid_tool_calls].flatMap((calls) =>
    Array.isArray(calls)
      ? calls.filter(isObject).map(({ id, name, args }, position) => ({
          id: typeof id === "string" && id !== "" ? id : `#${position}`,
          name: typeof name === "string" && name !== "" ? name : "tool",
          args,
        }))
      : [],
  )
}

function blocksOf(content: unknown): Block[] {
  if (typeof content === "string") return content === "" ? [] : [{ kind: "text", text: content }]
  if (!Array.isArray(content))
    return content === undefined || content === null ? [] : [{ kind: "other", value: content }]
  return joined(content.flatMap(blockOf))
}

/** Kinds of content that say again what `tool_calls` say. */
const callKinds = new Set([
  "tool_use",
  "tool_call",
  "tool_call_chunk",
  "invalid_tool_call",
  "input_json_delta",
  "function_call",
])

function blockOf(part: unknown): Block[] {
  if (typeof part === "string") return blocksOf(part)
  if (!isObject(part)) return [{ kind: "other", value: part }]
  const { type } = part
  if (typeof part.text === "string") return part.text === "" ? [] : [{ kind: "text", text: part.text }]
  if (type === "text" || callKinds.has(String(type))) return []
  const thought = part.reasoning ?? part.thinking
  if (typeof thought === "string") return thought === "" ? [] : [{ kind: "reasoning", text: thought }]
  const url = imageOf(part)
  if (url !== undefined) return [{ kind: "image", url }]
  return [fileOf(part) ?? { kind: "other", value: part }]
}

/** Only images that are in the message itself: the page loads nothing from another host. */
function imageOf(part: JsonObject): string | undefined {
  if (part.type !== "image_url" && part.type !== "image") return undefined
  const given = isObject(part.image_url) ? part.image_url.url : (part.image_url ?? part.url)
  const url = typeof given === "string" ? given : (dataUrlOf(part, "image/png") ?? "")
  return /^data:image\/(png|jpeg|gif|webp|avif);base64,/.test(url) ? url : undefined
}

/** Standard blocks of both languages and of both versions: `data` or `base64`, `mime_type` or `mimeType`. */
function fileOf(part: JsonObject): Block | undefined {
  const url = dataUrlOf(part, "application/octet-stream")
  if ((part.type !== "file" && part.type !== "audio" && part.type !== "video") || url === undefined) return undefined
  const metadata = isObject(part.metadata) ? part.metadata : {}
  const name = [metadata.filename, metadata.name, part.filename].find((each) => typeof each === "string" && each !== "")
  return { kind: "file", name: String(name ?? part.type), mimeType: url.slice("data:".length, url.indexOf(";")), url }
}

/** What is in the message itself as an address. Only base64: a page must not be made of what a graph says. */
function dataUrlOf(part: JsonObject, usualType: string): string | undefined {
  const data = part.data ?? part.base64
  const mime = String(part.mime_type ?? part.mimeType ?? usualType)
  const isPlain = typeof data === "string" && /^[A-Za-z0-9+/=_-]*$/.test(data) && /^[\w.+-]+\/[\w.+-]+$/.test(mime)
  return isPlain ? `data:${mime};base64,${data}` : undefined
}

/** Providers send one text in many parts. */
function joined(blocks: readonly Block[]): Block[] {
  const all: Block[] = []
  for (const block of blocks) {
    const last = all.at(-1)
    if (last && "text" in last && "text" in block && last.kind === block.kind)
      all[all.length - 1] = { kind: block.kind, text: last.text + block.text }
    else all.push(block)
  }
  return all
}

/** The text of a message's content; parts that are no text as JSON. */
export function textOf(content: unknown): string {
  if (typeof content === "string") return content
  return blocksOf(content)
    .map((block) => ("text" in block ? block.text : block.kind === "other" ? JSON.stringify(block.value) : ""))
    .filter((text) => text !== "")
    .join("\n")
}

/** What a text says if it is an object or a list in JSON, else the text. */
export function parsedJson(text: string): unknown {
  if (!/^\s*[[{]/.test(text)) return text
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** Whether a value of a state is a conversation. */
export const areMessages = (value: unknown): value is RawMessage[] =>
  Array.isArray(value) &&
  value.every((item) => isObject(item) && "content" in item && ("type" in item || "role" in item))

/** The key of a state's conversation; undefined when it has none, or an empty one. */
export const messagesKeyOf = (state: unknown): string | undefined => {
  const values = isObject(state) ? state : {}
  return Object.keys(values).find((key) => areMessages(values[key]) && (values[key] as unknown[]).length > 0)
}

type JsonObject = Readonly<Record<string, unknown>>
const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)
