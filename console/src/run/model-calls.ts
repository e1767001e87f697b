/** The model calls of a run, from the messages that its states gained: who answered, and with how many tokens. Pure. */

export interface ModelCall {
  readonly messageId: string
  readonly model: string | undefined
  readonly inputTokens: number
  readonly outputTokens: number
  /** Whether the message says how many tokens it took. */
  readonly hasTokens: boolean
  readonly toolCalls: readonly string[]
}

/** Messages of models that `after` has and `before` has not. */
export function newModelCalls(before: unknown, after: unknown): ModelCall[] {
  const known = new Set(messagesIn(before).map(({ id }) => id))
  return messagesIn(after)
    .filter((message) => isOfModel(message) && !known.has(message.id))
    .map(callOf)
}

/** Model calls in what one node returned. */
export const modelCallsOf = (result: unknown): ModelCall[] => messagesIn(result).filter(isOfModel).map(callOf)

interface Message {
  readonly id: string
  readonly [field: string]: unknown
}

/** Messages in any field of a state, such as `messages`. */
function messagesIn(values: unknown): Message[] {
  if (!isObject(values)) return []
  return Object.values(values)
    .flatMap((value) => (Array.isArray(value) ? value : [value]))
    .filter(
      (one): one is Message =>
        isObject(one) && typeof one.id === "string" && typeof one.type === "string" && "content" in one,
    )
}

const isOfModel = ({ type }: Message): boolean => type === "ai" || type === "AIMessageChunk"

function callOf(message: Message): ModelCall {
  const usage = isObject(message.usage_metadata) ? message.usage_metadata : undefined
  const response = isObject(message.response_metadata) ? message.response_metadata : {}
  const model = response.model_name ?? response.model
  const calls = Array.isArray(message.tool_calls) ? message.tool_calls : []
  return {
    messageId: message.id,
    model: typeof model === "string" ? model : undefined,
    inputTokens: Number(usage?.input_tokens ?? 0),
    outputTokens: Number(usage?.output_tokens ?? 0),
    hasTokens: usage !== undefined,
    toolCalls: calls.filter(isObject).map((call) => String(call.name ?? "tool")),
  }
}

export interface Tokens {
  readonly input: number
  readonly output: number
  readonly calls: number
  /** Calls whose provider told no number of tokens. */
  readonly unknown: number
}

export const sumOf = (calls: readonly ModelCall[]): Tokens => ({
  input: calls.reduce((sum, { inputTokens }) => sum + inputTokens, 0),
  output: calls.reduce((sum, { outputTokens }) => sum + outputTokens, 0),
  calls: calls.length,
  unknown: calls.filter(({ hasTokens }) => !hasTokens).length,
})

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)
