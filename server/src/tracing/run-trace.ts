/** The spans of a run as OpenTelemetry's SDK exports them: they began and ended in a worker, so none of them is ever open here. */
import { randomBytes } from "node:crypto"
import { type HrTime, type SpanContext, SpanStatusCode, TraceFlags } from "@opentelemetry/api"
import type { Resource } from "@opentelemetry/resources"
import type { ReadableSpan } from "@opentelemetry/sdk-trace-base"
import type { Span } from "@superstep/protocol/worker/frames"
import type { Claim } from "../runs/run.js"
import type { TracePart } from "../workers/port.js"
import { genAiSpan } from "./gen-ai.js"

export interface RunTraceOptions {
  readonly claim: Claim
  /** The span of the attempt, to which the outermost span belongs. */
  readonly attempt: SpanContext
  readonly resource: Resource
  readonly hasContent: boolean
  readonly exportSpan: (span: ReadableSpan) => void
}

// Ours, in each span that is made here.
const scope = { name: "superstep" }

/** @returns  takes the parts of the run's trace */
export function runTrace(options: RunTraceOptions): (part: TracePart) => void {
  const { attempt, claim, hasContent, exportSpan } = options
  // OpenTelemetry's ids of an attempt's spans follow from a number that nobody else uses, so a span need not know that of its parent.
  const first = randomBytes(8).readBigUInt64BE()
  const contextOf = (number: number): SpanContext => ({
    traceId: attempt.traceId,
    spanId: BigInt.asUintN(64, first + BigInt(number))
      .toString(16)
      .padStart(16, "0"),
    traceFlags: attempt.traceFlags,
  })
  const readable = (span: Span, content: string): ReadableSpan => {
    const { started_us: start, ended_us: end = start, first_token_us: firstToken, parent, status } = span
    const context = contextOf(span.number)
    return {
      ...genAiSpan(span, content, claim),
      spanContext: () => context,
      parentSpanContext: parent === undefined ? attempt : contextOf(parent),
      startTime: timeOf(start),
      endTime: timeOf(end),
      duration: timeOf(end - start),
      ended: true,
      status:
        status === "error"
          ? // The message may quote what went in, as that of a tool that rejects its arguments does.
            { code: SpanStatusCode.ERROR, ...(hasContent && span.error && { message: span.error.message }) }
          : { code: SpanStatusCode.UNSET },
      events: firstToken === undefined ? [] : [{ name: "first token", time: timeOf(firstToken) }],
      links: [],
      resource: options.resource,
      instrumentationScope: scope,
      droppedAttributesCount: 0,
      droppedEventsCount: 0,
      droppedLinksCount: 0,
    }
  }
  // The exporter would drop them.
  if ((attempt.traceFlags & TraceFlags.SAMPLED) === 0) return () => undefined
  return ({ spans, contents }) => {
    spans.forEach((span, n) => {
      if (span.status === "running") return
      exportSpan(readable(span, hasContent ? (contents[n]?.toString() ?? "") : ""))
    })
  }
}

/** Seconds and nanoseconds. */
const timeOf = (us: number): HrTime => [Math.floor(us / 1_000_000), (us % 1_000_000) * 1000]
