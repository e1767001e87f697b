/**
 * The events of one message, from its start to its end: pure, and the same in both languages
 * (`workers/python/superstep_worker/events/message_stream.py`).
 *
 * It takes slices of content blocks in LangChain's form and returns the data of protocol events as JSON text, in this order:
 * `message-start`, then for each block `content-block-start` and `content-block-delta`, `usage` as it arrives, and at the end
 * `content-block-finish` for each block and `message-finish`, or `error` instead. It sends the arguments of a tool call as a
 * `block-delta` with all arguments so far, since clients before SDK 1.12.6 fail on `tool-call-delta`.
 */
import { serialise } from "../values/serialise.js"

/** A part of a content block, or a whole block; `type` says which fields it has. */
export type Slice = Readonly<Record<string, unknown>>

export interface MessageHead {
  readonly id: string
  /** `human` or `system`; absent for a model's message. */
  readonly role?: string
}

/** Arguments so far are sent again and again, so a long tool call may send them only this often, in milliseconds. */
const argumentsIntervalMs = 50

type Fields = Record<string, unknown>

interface OpenBlock {
  readonly index: number
  readonly fields: Fields
  /** When its arguments were sent last. */
  argumentsSentMs: number
}

export class MessageStream {
  /** What each event of the message ends with. SDKs assign events to a message by these: JavaScript by `run_id`, Python by `id`. */
  readonly #ids: string
  readonly #head: MessageHead
  readonly #blocks = new Map<string, OpenBlock>()
  /** The key of the tool call that a slice without an index continues. */
  #lastCall: string | undefined
  #usage: Fields | undefined
  #reason = "stop"

  constructor(head: MessageHead) {
    this.#head = head
    this.#ids = `,"id":${JSON.stringify(head.id)},"run_id":${JSON.stringify(head.id.replace(/^(lc_)?run-+/, ""))}}`
  }

  start(): string {
    const { role } = this.#head
    return this.#event(`"message-start"${role === undefined ? "" : `,"role":${JSON.stringify(role)}`}`)
  }

  /** @param nowMs  the time, which decides whether arguments are sent now or later */
  content(slice: Slice, nowMs: number): string[] {
    if (isEmptyText(slice)) return []
    const key = this.#keyOf(slice)
    const open = this.#blocks.get(key)
    if (open === undefined) return this.#open(key, slice, nowMs)
    merge(open.fields, slice)
    return this.#delta(open, slice, nowMs)
  }

  /** @param usage  the tokens used since the previous call */
  usage(usage: Readonly<Fields>): string {
    this.#usage = this.#usage === undefined ? { ...usage } : sum(this.#usage, usage)
    return this.#event(`"usage","usage":${serialise(this.#usage)}`)
  }

  /** The provider's reason why the message ends; the last one counts. */
  reason(reason: string): void {
    this.#reason = reason
  }

  finish(): string[] {
    const blocks = [...this.#blocks.values()].map(({ index, fields }) =>
      this.#event(`"content-block-finish","index":${index},"content":${serialise(finished(fields))}`),
    )
    const usage = this.#usage === undefined ? "" : `,"usage":${serialise(this.#usage)}`
    return [...blocks, this.#event(`"message-finish","reason":${JSON.stringify(this.#reason)}${usage}`)]
  }

  /** The end of a message that will not be completed. */
  fail(message: string): string {
    return this.#event(`"error","message":${JSON.stringify(message)}`)
  }

  #event(fields: string): string {
    return `{"event":${fields}${this.#ids}`
  }

  #open(key: string, slice: Slice, nowMs: number): string[] {
    const { index: _, ...fields } = slice
    const block: OpenBlock = { index: this.#blocks.size, fields, argumentsSentMs: Number.NEGATIVE_INFINITY }
    this.#blocks.set(key, block)
    const content = serialise(skeleton(fields, block.index))
    const start = this.#event(`"content-block-start","index":${block.index},"content":${content}`)
    return [start, ...this.#delta(block, slice, nowMs)]
  }

  #delta(block: OpenBlock, slice: Slice, nowMs: number): string[] {
    const delta = isCallChunk(slice) ? this.#argumentsDelta(block, slice, nowMs) : deltaOf(slice)
    return delta === undefined ? [] : [this.#event(`"content-block-delta","index":${block.index},"delta":${delta}`)]
  }

  #argumentsDelta(block: OpenBlock, { args }: Slice, nowMs: number): string | undefined {
    if (!args || nowMs - block.argumentsSentMs < argumentsIntervalMs) return undefined
    block.argumentsSentMs = nowMs
    const { type, id, name, args: soFar } = block.fields
    return serialise({ type: "block-delta", fields: { type, id, name, args: soFar } })
  }

  /** Slices of one block have the same key. Providers number their blocks, or send blocks without a number one after another. */
  #keyOf(slice: Slice): string {
    const { type, index, id, name } = slice
    const isNumbered = index !== undefined && index !== null
    if (isCallChunk(slice)) {
      const isNew = this.#lastCall === undefined || Boolean(id) || Boolean(name)
      const key = isNumbered ? `${type}:${index}` : isNew ? `${type}#${this.#blocks.size}` : (this.#lastCall ?? "")
      this.#lastCall = key
      return key
    }
    if (isNumbered) return `${type}:${index}`
    if (type === "text" || type === "reasoning") return String(type)
    return typeof slice.data === "string" && id ? `${type}:${id}` : `${type}#${this.#blocks.size}`
  }
}

const isCallChunk = ({ type }: Slice): boolean => type === "tool_call_chunk" || type === "server_tool_call_chunk"

/** LangChain returns an empty text block for a chunk without content. */
const isEmptyText = (slice: Slice): boolean => slice.type === "text" && slice.text === "" && slice.index === undefined

/** The block as it starts: what deltas or its end will bring is left out. */
function skeleton(fields: Readonly<Fields>, index: number): object {
  const { type } = fields
  if (type === "text") return { ...without(fields, ["annotations"]), text: "" }
  if (type === "reasoning") return { ...fields, reasoning: "" }
  if (isCallChunk(fields)) return { type, id: fields.id, name: fields.name, args: "", index }
  const rest = without(fields, ["args", "data", "output", "transcript", "value"])
  if (type === "tool_call" || type === "server_tool_call") return { ...rest, args: {} }
  return type === "non_standard" ? { ...rest, value: {} } : rest
}

function deltaOf({ type, text, reasoning, data }: Slice): string | undefined {
  if (type === "text") return text ? `{"type":"text-delta","text":${JSON.stringify(text)}}` : undefined
  if (type === "reasoning")
    return reasoning ? `{"type":"reasoning-delta","reasoning":${JSON.stringify(reasoning)}}` : undefined
  return typeof data === "string" && data !== ""
    ? `{"type":"data-delta","data":${JSON.stringify(data)},"encoding":"base64"}`
    : undefined
}

/** Fields that grow with each slice; of others the last value counts. */
const growing = new Set(["text", "reasoning", "args", "data"])

function merge(fields: Fields, slice: Slice): void {
  for (const [name, value] of Object.entries(slice)) {
    if (name === "index" || value === undefined || value === null) continue
    const before = fields[name]
    if (growing.has(name) && typeof value === "string") fields[name] = `${before ?? ""}${value}`
    else if (name === "extras") fields[name] = { ...(before as Fields | undefined), ...(value as Fields) }
    else if (value !== "") fields[name] = value
  }
}

/** The whole block. Arguments that are not JSON give an `invalid_tool_call`. */
function finished(fields: Readonly<Fields>): object {
  if (!isCallChunk(fields)) return fields
  const { type, id, name, args } = fields
  const text = typeof args === "string" && args !== "" ? args : "{}"
  try {
    return { type: String(type).replace("_chunk", ""), id, name, args: JSON.parse(text) }
  } catch {
    return { type: "invalid_tool_call", id, name, args: text, error: "The arguments are not valid JSON." }
  }
}

/** Adds up the numbers of two usages, also of their details. */
function sum(a: Readonly<Fields>, b: Readonly<Fields>): Fields {
  const total: Fields = { ...a }
  for (const [name, value] of Object.entries(b)) {
    const before = total[name]
    if (typeof before === "number" && typeof value === "number") total[name] = before + value
    else if (isFields(before) && isFields(value)) total[name] = sum(before, value)
    else total[name] = value
  }
  return total
}

const isFields = (value: unknown): value is Fields => typeof value === "object" && value !== null

const without = (fields: Readonly<Fields>, names: readonly string[]): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)))
