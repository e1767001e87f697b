/**
 * The spans of a run in OpenTelemetry's words: its semantic conventions for generative AI
 * (https://opentelemetry.io/docs/specs/semconv/gen-ai/). Pure.
 */
import { type Attributes, SpanKind } from "@opentelemetry/api"
import type { Span } from "@superstep/protocol/worker/frames"
import { parseJson, toJsonText } from "@superstep/toolkit/http/json"
import type { Claim } from "../runs/run.js"

export interface GenAiSpan {
  readonly name: string
  readonly kind: SpanKind
  readonly attributes: Attributes
}

type SpanClaim = Pick<Claim, "runId" | "threadId" | "graphId" | "attempt">

/** @param content  JSON text `{input, output}`; empty: the collector gets none */
export function genAiSpan(span: Span, content: string, claim: SpanClaim): GenAiSpan {
  const { kind, name, namespace, error } = span
  const { operation, target = name, ...words } = wordsOf(span, claim)
  return {
    name: operation === undefined ? name : `${operation} ${target}`,
    kind: kind === "model" ? SpanKind.CLIENT : SpanKind.INTERNAL,
    attributes: {
      "superstep.run_id": claim.runId,
      "superstep.attempt": claim.attempt,
      "superstep.kind": kind,
      "superstep.status": span.status,
      ...(namespace !== "" && { "superstep.namespace": namespace }),
      "gen_ai.conversation.id": claim.threadId,
      ...(operation !== undefined && { "gen_ai.operation.name": operation }),
      ...words.attributes,
      ...(error && { "error.type": error.error }),
      ...(content !== "" && contentAttributes(kind, parseJson(content))),
    },
  }
}

interface Words {
  readonly operation?: string
  /** What the operation is about, in the span's name. */
  readonly target?: string
  readonly attributes: Attributes
}

function wordsOf(span: Span, { graphId }: SpanClaim): Words {
  const { kind, name, model, response_model: answering, provider, input_tokens: input, output_tokens: output } = span
  switch (kind) {
    case "graph": {
      const agent = span.parent === undefined ? graphId : name
      return { operation: "invoke_agent", target: agent, attributes: { "gen_ai.agent.name": agent } }
    }
    case "model":
      return {
        operation: "chat",
        target: model ?? answering ?? name,
        attributes: {
          ...(model !== undefined && { "gen_ai.request.model": model }),
          ...(answering !== undefined && { "gen_ai.response.model": answering }),
          // The second name is that of the conventions before 1.37, which many collectors still read.
          ...(provider !== undefined && { "gen_ai.provider.name": provider, "gen_ai.system": provider }),
          ...(input !== undefined && { "gen_ai.usage.input_tokens": input }),
          ...(output !== undefined && { "gen_ai.usage.output_tokens": output }),
        },
      }
    case "tool": {
      const call = span.tool_call_id === undefined ? {} : { "gen_ai.tool.call.id": span.tool_call_id }
      return { operation: "execute_tool", attributes: { "gen_ai.tool.name": name, ...call } }
    }
    case "retriever":
      return { operation: "retrieval", attributes: { "gen_ai.data_source.id": name } }
    default:
      return { attributes: {} }
  }
}

interface Content {
  readonly input?: unknown
  readonly output?: unknown
}

function contentAttributes(kind: Span["kind"], { input, output }: Content): Attributes {
  const [inputName, outputName] = contentNames[kind]
  const form = (value: unknown, role: string) => (kind === "model" ? messagesOf(value, role) : value)
  return {
    ...(input !== undefined && { [inputName]: toJsonText(form(input, "user")) }),
    ...(output !== undefined && { [outputName]: toJsonText(form(output, "assistant")) }),
  }
}

const ownNames = ["superstep.input", "superstep.output"] as const
const contentNames: Readonly<Record<Span["kind"], readonly [input: string, output: string]>> = {
  model: ["gen_ai.input.messages", "gen_ai.output.messages"],
  tool: ["gen_ai.tool.call.arguments", "gen_ai.tool.call.result"],
  retriever: ownNames,
  graph: ownNames,
  node: ownNames,
  chain: ownNames,
}

/**
 * LangChain's messages in the conventions' form: `[{role, parts: [{type, content}]}]`.
 * @param role  whose a text without a role is: models that complete a text get and return no messages
 */
const messagesOf = (value: unknown, role: string): object[] =>
  (Array.isArray(value) ? value : [value]).map((message) => messageOf(message, role))

interface Message {
  readonly type?: unknown
  readonly content?: unknown
  readonly tool_calls?: unknown
  readonly tool_call_id?: unknown
  readonly response_metadata?: { readonly finish_reason?: unknown } | null
}

const roles: Readonly<Record<string, string>> = {
  human: "user",
  ai: "assistant",
  AIMessageChunk: "assistant",
  system: "system",
  tool: "tool",
}

function messageOf(value: unknown, textRole: string): object {
  if (typeof value !== "object" || value === null) {
    return { role: textRole, parts: [{ type: "text", content: String(value) }] }
  }
  const { type, content, tool_calls: calls, tool_call_id: id, response_metadata: about } = value as Message
  const reason = about?.finish_reason
  return {
    role: roles[String(type)] ?? String(type),
    parts:
      type === "tool"
        ? [{ type: "tool_call_response", id, response: content }]
        : [...textParts(content), ...(Array.isArray(calls) ? calls : []).map(callPart)],
    ...(typeof reason === "string" && { finish_reason: reason }),
  }
}

/** Blocks of content that the conventions do not name keep their own form. */
function textParts(content: unknown): object[] {
  if (typeof content === "string") return content === "" ? [] : [{ type: "text", content }]
  return (Array.isArray(content) ? content : []).map((block: { type?: unknown; text?: unknown } | null) =>
    block?.type === "text" ? { type: "text", content: block.text } : { ...Object(block) },
  )
}

const callPart = (call: { id?: unknown; name?: unknown; args?: unknown } | null): object => ({
  type: "tool_call",
  id: call?.id,
  name: call?.name,
  arguments: call?.args,
})
