/** A span as it is recorded: what LangChain told, untouched until it is sent. Pure. */
import type { Failure, Span } from "@superstep/protocol/worker/frames"
import { isRecord } from "@superstep/protocol/worker/validate"
import { describeError } from "../errors/describe-error.js"

export interface OpenSpan {
  readonly id: string
  readonly number: number
  readonly parent: OpenSpan | undefined
  kind: Span["kind"]
  readonly name: string
  readonly namespace: string
  readonly startedUs: number
  readonly input: unknown
  readonly provider?: string | undefined
  readonly toolCallId?: string | undefined
  readonly model?: string | undefined
  responseModel?: string | undefined
  firstTokenUs?: number
  endedUs?: number
  status: Span["status"]
  error?: unknown
  output?: unknown
  tokens?: Tokens | undefined
  /** It waits to be sent. */
  isQueued: boolean
}

export interface Tokens {
  readonly input_tokens?: number
  readonly output_tokens?: number
}

type Fields = Readonly<Record<string, unknown>>

/** The header of a span in a frame. */
export function spanFields(span: OpenSpan): Span {
  const { id, number, parent, kind, name, namespace, startedUs, firstTokenUs, endedUs, status, error } = span
  return {
    span_id: id,
    number,
    ...(parent !== undefined && { parent: parent.number }),
    kind,
    name,
    namespace,
    started_us: startedUs,
    ...(firstTokenUs !== undefined && { first_token_us: firstTokenUs }),
    ...(endedUs !== undefined && { ended_us: endedUs }),
    status,
    ...(status === "error" && { error: failureOf(error) }),
    ...(span.model !== undefined && { model: span.model }),
    ...(span.responseModel !== undefined && { response_model: span.responseModel }),
    ...(span.provider !== undefined && { provider: span.provider }),
    ...span.tokens,
    ...(span.toolCallId !== undefined && { tool_call_id: span.toolCallId }),
  }
}

// A message may contain a whole page. A person reads its beginning.
const maxMessage = 4_000

function failureOf(thrown: unknown): Failure {
  const { error, message } = describeError(thrown)
  return { error, message: message.slice(0, maxMessage) }
}

/** How work ended that threw: LangGraph throws to stop at an interrupt, and to pass a command to the parent graph. */
export function statusOfThrown(thrown: unknown): Span["status"] {
  const name = describeError(thrown).error
  const bubblesUp = isRecord(thrown) && "is_bubble_up" in thrown && thrown.is_bubble_up
  if (name === "ParentCommand") return "success"
  if (bubblesUp === true || name === "GraphInterrupt" || name === "NodeInterrupt") return "interrupted"
  return name.endsWith("AbortError") ? "cancelled" : "error"
}

/** Whether a cancelled run threw this since it was stopped: the reason of its signal, or what LangGraph throws instead. */
export function isOfCancel(thrown: unknown, reason: unknown): boolean {
  if (thrown === reason) return true
  const { error, message } = describeError(thrown)
  return error === "Error" && message === "Abort"
}

/** The messages or the texts of a model's answer, without LangChain's wrapping. */
export function answerOf(result: unknown): unknown {
  const generations = isRecord(result) && Array.isArray(result.generations) ? result.generations.flat() : []
  const answers = generations.map((each: unknown) => (isRecord(each) ? (each.message ?? each.text) : each))
  return answers.length === 1 ? answers[0] : answers
}

/** What a model's answer says about the call. */
export function factsOf(result: unknown): { readonly responseModel?: string; readonly tokens?: Tokens } {
  const answer = answerOf(result)
  const message: Fields = isRecord(answer) ? answer : {}
  const about = record(message.response_metadata)
  const usage = record(message.usage_metadata ?? record(record(result).llmOutput).tokenUsage)
  const model = text(about.model_name) ?? text(about.model)
  const input = count(usage.input_tokens) ?? count(usage.promptTokens)
  const output = count(usage.output_tokens) ?? count(usage.completionTokens)
  return {
    ...(model !== undefined && { responseModel: model }),
    tokens: {
      ...(input !== undefined && { input_tokens: input }),
      ...(output !== undefined && { output_tokens: output }),
    },
  }
}

export const record = (value: unknown): Fields => (isRecord(value) ? value : {})

export const text = (value: unknown): string | undefined =>
  typeof value === "string" && value !== "" ? value : undefined

const count = (value: unknown): number | undefined =>
  typeof value === "number" && Number.isSafeInteger(value) ? value : undefined
