/** A message's content as content blocks: in LangChain's own translation where its version has one, else in a plain one. */
import { isRecord } from "@superstep/protocol/worker/validate"
import type { Slice } from "./message-stream.js"

/** The fields of messages that we read; older versions have no `contentBlocks`. */
export interface ContentMessage {
  readonly id?: string
  readonly content: unknown
  readonly additional_kwargs?: object
  readonly tool_calls?: readonly Slice[]
  readonly tool_call_chunks?: readonly Slice[]
  readonly contentBlocks?: readonly Slice[]
  readonly usage_metadata?: Readonly<Record<string, unknown>>
  readonly response_metadata?: Readonly<Record<string, unknown>>
  readonly chunk_position?: unknown
  getType?(): string
}

/**
 * The content of one chunk of a message. Tool calls are taken from `tool_call_chunks`: LangChain's translation parses them, which
 * a slice of the arguments does not survive.
 */
export function slicesOf(chunk: ContentMessage): Slice[] {
  const { content, tool_call_chunks: calls = [] } = chunk
  const hasMore = calls.length > 0 || hasFields(chunk.additional_kwargs)
  // Nearly every token is of this form.
  if (typeof content === "string" && !hasMore) return content === "" ? [] : [{ type: "text", text: content }]
  return [
    ...blocksOf(chunk).filter((block) => !isCall(block)),
    ...calls.map((call) => ({ ...call, type: "tool_call_chunk" })),
  ]
}

/** The content of a whole message. */
export function wholeBlocks(message: ContentMessage): Slice[] {
  const blocks = blocksOf(message).filter((block) => block.type === "tool_call" || !isCall(block))
  const known = new Set(blocks.map(({ type, id }) => type === "tool_call" && id))
  const calls = (message.tool_calls ?? []).filter(({ id }) => !known.has(id as string))
  return [...blocks, ...calls.map((call) => ({ ...call, type: "tool_call" }))]
}

function blocksOf(message: ContentMessage): Slice[] {
  try {
    // The getter fails for content that its translator does not expect.
    const { contentBlocks } = message
    if (contentBlocks !== undefined) return contentBlocks.map(standard)
  } catch {
    // The plain translation accepts any content.
  }
  const { content } = message
  if (typeof content === "string") return content === "" ? [] : [{ type: "text", text: content }]
  return Array.isArray(content) ? content.filter(isRecord).map(plainBlock) : []
}

/** The parts of older or unknown providers that LangChain leaves as they are. */
const standard = (block: Slice): Slice =>
  block.type === "non_standard" && isRecord(block.value) ? plainBlock(block.value) : block

function plainBlock(part: Slice): Slice {
  const { type, index } = part
  const numbered = index === undefined ? {} : { index }
  if (type === "thinking" || type === "reasoning") {
    const { thinking, reasoning = thinking ?? "", signature } = part
    return { type: "reasoning", reasoning, ...numbered, ...(signature === undefined ? {} : { extras: { signature } }) }
  }
  return typeof type === "string" && standardTypes.has(type) ? part : { type: "non_standard", value: part, ...numbered }
}

const standardTypes = new Set([
  "text",
  "tool_call",
  "tool_call_chunk",
  "invalid_tool_call",
  "server_tool_call",
  "server_tool_call_chunk",
  "server_tool_call_result",
  "image",
  "audio",
  "video",
  "file",
  "text-plain",
])

/** The forms in which content repeats a tool call. */
const callTypes = new Set(["tool_call", "tool_call_chunk", "invalid_tool_call"])
const providerCallTypes = new Set(["tool_use", "input_json_delta", "functionCall", "function_call"])

function isCall({ type, value }: Slice): boolean {
  if (callTypes.has(String(type))) return true
  return type === "non_standard" && isRecord(value) && providerCallTypes.has(String(value.type))
}

const hasFields = (value: object | undefined): boolean => {
  for (const _ in value) return true
  return false
}
