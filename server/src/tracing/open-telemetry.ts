/** Traces with OpenTelemetry's SDK, sent over OTLP/HTTP. It registers nothing globally. */

import { AsyncLocalStorage } from "node:async_hooks"
import type { ServerResponse } from "node:http"
import { type Span, SpanKind, SpanStatusCode } from "@opentelemetry/api"
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http"
import { defaultResource, resourceFromAttributes } from "@opentelemetry/resources"
import { BasicTracerProvider, BatchSpanProcessor, type ReadableSpan } from "@opentelemetry/sdk-trace-base"
import { onceClosed } from "@superstep/toolkit/http/once-closed"
import { statusOf } from "@superstep/toolkit/http/reply-headers"
import type { Context } from "hono"
import type { Claim } from "../runs/run.js"
import { runTrace } from "./run-trace.js"
import { contextOf, traceparentOf } from "./traceparent.js"
import type { Tracing } from "./tracing.js"

export interface TracingOptions {
  /** Where the collector takes traces. */
  readonly url: string
  readonly version: string
  readonly serviceName: string
  /** Whether the collector gets prompts, answers, arguments and results, and messages of errors, which may quote them. */
  readonly hasContent: boolean
}

// A span with content may have 128 KB: at most 64 MB wait, and a request has at most 8 MB, which collectors take.
const contentLimits = { maxQueueSize: 512, maxExportBatchSize: 64 }

export function createTracing({ url, version, serviceName, hasContent }: TracingOptions): Tracing {
  const processor = new BatchSpanProcessor(new OTLPTraceExporter({ url }), hasContent ? contentLimits : {})
  const resource = defaultResource().merge(
    resourceFromAttributes({ "service.name": serviceName, "service.version": version }),
  )
  const provider = new BasicTracerProvider({ resource, spanProcessors: [processor] })
  const tracer = provider.getTracer("superstep")
  const requests = new AsyncLocalStorage<Span>()

  const middleware: Tracing["middleware"] = async (c, next) => {
    const { method, path } = c.req
    const options = { kind: SpanKind.SERVER, attributes: { "http.request.method": method, "url.path": path } }
    const span = tracer.startSpan(method, options, contextOf(c.req.header("traceparent")))
    await requests.run(span, next)
    describe(span, c)
    const outgoing = (c.env as { outgoing?: ServerResponse } | undefined)?.outgoing
    // A stream continues after its handler has returned.
    if (outgoing) onceClosed(outgoing, () => span.end())
    else span.end()
  }

  const started = (claim: Claim) => {
    const { runId, threadId, graphId, attempt, waitedMs = 0 } = claim
    const attributes = {
      "superstep.run_id": runId,
      "superstep.thread_id": threadId,
      "superstep.graph_id": graphId,
      "superstep.attempt": attempt,
    }
    const parent = contextOf(claim.kwargs.traceparent)
    const now = Date.now()
    if (waitedMs > 0) tracer.startSpan("run queued", { attributes, startTime: now - waitedMs }, parent).end(now)
    const span = tracer.startSpan("run executed", { attributes, startTime: now }, parent)
    const exportSpan = (one: ReadableSpan) => processor.onEnd(one)
    return {
      spans: runTrace({ claim, attempt: span.spanContext(), resource, hasContent, exportSpan }),
      firstEvent: () => void span.addEvent("first event"),
      ended: (status: string) => {
        span.setAttribute("superstep.status", status)
        if (status === "error" || status === "timeout") span.setStatus({ code: SpanStatusCode.ERROR })
        span.end()
      },
    }
  }

  return {
    middleware,
    observer: { started },
    traceparent: () => traceparentOf(requests.getStore()),
    close: () => provider.shutdown(),
  }
}

/** Sets the span's route and status. The status of a stream is the status in its headers. */
function describe(span: Span, c: Context): void {
  const status = statusOf(c)
  const route = c.req.routePath
  if (route !== "*" && route !== "/*") {
    span.updateName(`${c.req.method} ${route}`)
    span.setAttribute("http.route", route)
  }
  span.setAttribute("http.response.status_code", status)
  if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR })
}
