/** W3C trace context: `00-<trace id>-<span id>-<flags>`. Pure. */
import { type Context, isSpanContextValid, ROOT_CONTEXT, type Span, trace } from "@opentelemetry/api"

const form = /^[\da-f]{2}-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})/

/** The parent context in a `traceparent` header. Without a valid header: the root context, which starts a new trace. */
export function contextOf(traceparent: string | undefined): Context {
  const [, traceId = "", spanId = "", flags = "00"] = form.exec(traceparent ?? "") ?? []
  const parent = { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true }
  return isSpanContextValid(parent) ? trace.setSpanContext(ROOT_CONTEXT, parent) : ROOT_CONTEXT
}

/** The `traceparent` header of a span. */
export function traceparentOf(span: Span | undefined): string | undefined {
  if (!span) return undefined
  const { traceId, spanId, traceFlags } = span.spanContext()
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, "0")}`
}
