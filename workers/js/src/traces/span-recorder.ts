/**
 * Records the spans of one run, as a callback handler of LangChain (decision 93). Its twin is `traces/span_recorder.py`.
 *
 * A callback only notes references and the time: values are serialised when they are sent, some times a second and when the run ends.
 * A graph waits for its handlers (decision 89), so none of them waits for anything. It never throws: LangChain reports errors of a handler
 * in the log and goes on. It stops with `end`.
 */
import { setImmediate as turn } from "node:timers/promises"
import type { RunFrame, Span, SpansFrame } from "@superstep/protocol/worker/frames"
import { contentOf } from "./content.js"
import { answerOf, factsOf, isOfCancel, type OpenSpan, record, spanFields, statusOfThrown, text } from "./span.js"

// Soon enough for a person who watches, and seldom enough that a short run sends its spans once.
const sendEveryMs = 250
// More are no help to a person, and a loop must not fill the database.
const maxSpans = 5_000
// Keep the pause of the event loop short: at most this many spans, and characters of content, are serialised at once.
const maxPerFrame = 50
const maxFrameLength = 1024 * 1024
// In characters of content. A run that ends with more to send than this sends only the times of the rest: its end must not take seconds.
const maxFlushLength = 8 * 1024 * 1024
// The `toJSON` of a user's class may take long, and a run must not wait for its trace. Once slow values have taken this long together,
// the rest of the run has only times.
const slowMs = 50
const maxSlowMs = 2_000
// In characters. Prompts and answers are what people look for; the state around them is in the checkpoints, too.
const contentLimits = { model: 32_768, tool: 32_768, retriever: 8_192, chain: 8_192, node: 8_192, graph: 8_192 }

const hiddenTag = "langsmith:hidden"

type Send = (frame: Pick<SpansFrame, "spans" | "payload">, lines: readonly string[]) => void

export interface RecorderOptions {
  readonly trace: NonNullable<RunFrame["trace"]>
  readonly send: Send
  /** Undefined while the socket has room; else a promise to wait for before sending more. */
  readonly full: () => Promise<void> | undefined
}

export class SpanRecorder {
  readonly name = "superstep_spans"
  readonly awaitHandlers = true
  readonly raiseError = false
  readonly ignoreLLM = false
  /** LangChain then makes no callbacks of graphs, nodes and chains. */
  readonly ignoreChain: boolean
  /** The same, of tools. */
  readonly ignoreAgent: boolean
  readonly ignoreRetriever: boolean
  readonly ignoreCustomEvent = true
  readonly #options: RecorderOptions
  /** Spans that have not ended, by LangChain's id. Of hidden work, and of work that is left out, the span around it. */
  readonly #open = new Map<string, OpenSpan | { readonly around: OpenSpan | undefined }>()
  #queue: OpenSpan[] = []
  #count = 0
  #leftOut = 0
  /** How long values took that were slow to serialise. */
  #slowMs = 0
  #timer: NodeJS.Timeout | undefined
  #isOver = false
  /** Set once the run is cancelled. */
  #cancelReason: unknown
  // A clock that does not jump within the run.
  readonly #clockMs = Date.now() - performance.now()

  constructor(options: RecorderOptions) {
    this.#options = options
    const isOfModels = options.trace === "models"
    this.ignoreChain = isOfModels
    this.ignoreAgent = isOfModels
    this.ignoreRetriever = isOfModels
  }

  handleChainStart(
    chain: unknown,
    inputs: unknown,
    runId: string,
    parentId?: string,
    tags: readonly string[] = [],
    metadata?: unknown,
    _runType?: string,
    runName?: string,
  ): void {
    const isNode = tags.some((tag) => tag.startsWith("graph:step:"))
    const around = this.#around(parentId)
    // Only a graph has nodes.
    if (isNode && around !== undefined) around.kind = "graph"
    const kind = isNode ? "node" : parentId === undefined ? "graph" : "chain"
    this.#begin({ id: runId, parentId, kind, name: text(runName) ?? nameOf(chain), input: inputs, tags, metadata })
  }

  handleChainEnd(outputs: unknown, runId: string): void {
    this.#end(runId, "success", { output: outputs })
  }

  handleChainError(error: unknown, runId: string): void {
    this.#fail(runId, error)
  }

  handleChatModelStart(
    model: unknown,
    [messages]: readonly unknown[],
    runId: string,
    parentId?: string,
    extra?: unknown,
    tags: readonly string[] = [],
    metadata?: unknown,
    runName?: string,
  ): void {
    const { ls_model_name: known, ls_provider: provider } = record(metadata)
    const asked = record(record(extra).invocation_params)
    const modelName = text(known) ?? text(asked.model) ?? text(asked.model_name)
    const name = text(runName) ?? modelName ?? nameOf(model)
    const fields = { id: runId, parentId, kind: "model", name, input: messages, tags, metadata } as const
    this.#begin({ ...fields, model: modelName, provider: text(provider) })
  }

  handleLLMStart(...args: Parameters<SpanRecorder["handleChatModelStart"]>): void {
    this.handleChatModelStart(...args)
  }

  handleLLMNewToken(_token: string, _place: unknown, runId: string): void {
    const span = this.#open.get(runId)
    if (span !== undefined && "id" in span) span.firstTokenUs ??= this.#nowUs()
  }

  handleLLMEnd(result: unknown, runId: string): void {
    this.#end(runId, "success", { output: answerOf(result), ...factsOf(result) })
  }

  handleLLMError(error: unknown, runId: string): void {
    this.#fail(runId, error)
  }

  handleToolStart(
    tool: unknown,
    input: string,
    runId: string,
    parentId?: string,
    tags: readonly string[] = [],
    metadata?: unknown,
    runName?: string,
    toolCallId?: string,
  ): void {
    const name = text(runName) ?? nameOf(tool)
    const fields = { id: runId, parentId, kind: "tool", name, input: parsed(input), tags, metadata } as const
    this.#begin({ ...fields, toolCallId: text(toolCallId) })
  }

  handleToolEnd(output: unknown, runId: string): void {
    this.#end(runId, "success", { output })
  }

  handleToolError(error: unknown, runId: string): void {
    this.#fail(runId, error)
  }

  handleRetrieverStart(
    retriever: unknown,
    query: string,
    runId: string,
    parentId?: string,
    tags: readonly string[] = [],
    metadata?: unknown,
    name?: string,
  ): void {
    const kind = "retriever"
    this.#begin({ id: runId, parentId, kind, name: text(name) ?? nameOf(retriever), input: query, tags, metadata })
  }

  handleRetrieverEnd(documents: unknown, runId: string): void {
    this.#end(runId, "success", { output: documents })
  }

  handleRetrieverError(error: unknown, runId: string): void {
    this.#fail(runId, error)
  }

  /** Sends all that is recorded, also the spans that have not ended. Other runs of the worker go on meanwhile. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    let room = maxFlushLength
    while (this.#queue.length > 0) {
      room -= this.#sendSome(room)
      if (this.#queue.length > 0) await (this.#options.full() ?? turn())
    }
  }

  /** The run is stopped: what ends with this reason from now on was cancelled, and has not failed. */
  cancel(reason: unknown): void {
    this.#cancelReason = reason
  }

  /** Sends the rest, and records nothing more. What has not ended is cancelled, since nobody waits for it any more. */
  async end(): Promise<void> {
    for (const id of this.#open.keys()) this.#end(id, "cancelled", {})
    this.#isOver = true
    await this.flush()
  }

  /** Records nothing more, and sends nothing: the run has moved on. */
  drop(): void {
    clearTimeout(this.#timer)
    this.#isOver = true
    this.#queue = []
    this.#open.clear()
  }

  #begin(begun: Begun): void {
    if (this.#isOver) return
    const { id, parentId, tags, metadata, ...fields } = begun
    const parent = this.#around(parentId)
    const isLeftOut = this.#count >= maxSpans
    if (isLeftOut) this.#leftOut += 1
    if (isLeftOut || tags.includes(hiddenTag)) {
      this.#open.set(id, { around: parent })
      return
    }
    this.#count += 1
    const namespace = text(record(metadata).langgraph_checkpoint_ns) ?? ""
    const times = { startedUs: this.#nowUs(), status: "running", isQueued: false } as const
    const span: OpenSpan = { ...fields, ...times, id, number: this.#count, parent, namespace }
    this.#open.set(id, span)
    this.#enqueue(span)
  }

  #end(id: string, status: OpenSpan["status"], facts: Partial<OpenSpan>): void {
    const span = this.#open.get(id)
    this.#open.delete(id)
    if (span === undefined || !("id" in span)) return
    const ended = { endedUs: Math.max(span.startedUs, this.#nowUs()), status }
    Object.assign(span, facts, ended)
    this.#enqueue(span)
  }

  #fail(id: string, error: unknown): void {
    const isCancelled = this.#cancelReason !== undefined && isOfCancel(error, this.#cancelReason)
    const status = isCancelled ? "cancelled" : statusOfThrown(error)
    this.#end(id, status, status === "error" ? { error } : {})
  }

  #around(parentId: string | undefined): OpenSpan | undefined {
    const parent = parentId === undefined ? undefined : this.#open.get(parentId)
    return parent !== undefined && "around" in parent ? parent.around : parent
  }

  #enqueue(span: OpenSpan): void {
    if (span.isQueued || this.#isOver) return
    span.isQueued = true
    this.#queue.push(span)
    this.#timer ??= setTimeout(() => this.#onTime(), sendEveryMs).unref()
  }

  #onTime(): void {
    this.#timer = undefined
    if (this.#options.full() === undefined) this.#sendSome(maxFrameLength)
    if (this.#queue.length > 0) this.#timer = setTimeout(() => this.#onTime(), sendEveryMs).unref()
  }

  /**
   * @param room  how many characters of content may be sent; of what comes when it is used up, only the headers
   * @returns     how many were sent
   */
  #sendSome(room: number): number {
    const headers: Span[] = []
    const lines: string[] = []
    let length = 0
    for (let n = 0; n < maxPerFrame && length < maxFrameLength; n += 1) {
      const span = this.#queue.shift()
      if (span === undefined) break
      span.isQueued = false
      try {
        const { line, isCut } = this.#options.trace === "full" ? this.#content(span, length < room) : noContent
        length += line.length
        const leftOut = span.parent === undefined && this.#leftOut > 0 ? { left_out: this.#leftOut } : {}
        headers.push({ ...spanFields(span), ...(isCut && { is_cut: true as const }), ...leftOut })
        lines.push(line)
      } catch {
        // An object of a user's class failed. The run must not (W12), so the trace goes on without this span.
      }
    }
    this.#options.send({ spans: headers, payload: headers.map(() => "content" as const) }, lines)
    return length
  }

  #content(span: OpenSpan, hasRoom: boolean): { line: string; isCut: boolean } {
    const beganMs = performance.now()
    const content = contentLine(span, hasRoom && this.#slowMs < maxSlowMs)
    const tookMs = performance.now() - beganMs
    if (tookMs > slowMs) this.#slowMs += tookMs
    return content
  }

  #nowUs(): number {
    return Math.round((this.#clockMs + performance.now()) * 1000)
  }
}

interface Begun {
  readonly id: string
  readonly parentId: string | undefined
  readonly kind: OpenSpan["kind"]
  readonly name: string
  readonly input: unknown
  readonly tags: readonly string[]
  readonly metadata: unknown
  readonly model?: string | undefined
  readonly provider?: string | undefined
  readonly toolCallId?: string | undefined
}

const noContent = { line: "", isCut: false }

function contentLine({ kind, input, output }: OpenSpan, hasRoom: boolean): { line: string; isCut: boolean } {
  if (!hasRoom)
    return {
      line: '{"input":"… (left out: the trace has too much content, or values that are slow to read)"}',
      isCut: true,
    }
  const limit = contentLimits[kind]
  const given = contentOf(input, limit)
  if (output === undefined) return { line: `{"input":${given.text}}`, isCut: given.isCut }
  const returned = contentOf(output, limit)
  const line = `{"input":${given.text},"output":${returned.text}}`
  return { line, isCut: given.isCut || returned.isCut }
}

/** The name of the class of something that LangChain has serialised. */
function nameOf(serialized: unknown): string {
  const { id, name } = record(serialized)
  return text(name) ?? (Array.isArray(id) ? text(id.at(-1)) : undefined) ?? "unnamed"
}

/**
 * LangChain gives a tool's arguments as the JSON text of an object, and the input of a tool that takes one text as it is: such a
 * text may be JSON as well, and stays a text.
 */
function parsed(input: string): unknown {
  if (!input.startsWith("{")) return input
  try {
    return JSON.parse(input)
  } catch {
    return input
  }
}
