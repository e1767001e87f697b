/**
 * OpenTelemetry traces of requests and of the runs that they create. The SDK is loaded only if a collector is configured,
 * so without one tracing has no cost.
 */
import type { MiddlewareHandler } from "hono"
import type { RunObserver } from "../runs/observer.js"

export interface Tracing {
  /** Creates a span for each request, from its start to the end of its reply. */
  readonly middleware: MiddlewareHandler
  /** Creates spans for a run's time in the queue and its execution, as children of the request that created it. */
  readonly observer: RunObserver
  /** W3C `traceparent` of the current request. It is stored with a run, so that any server can continue the trace. */
  traceparent(): string | undefined
  /** Sends the remaining spans. Rejects when the collector does not accept them. */
  close(): Promise<void>
}
