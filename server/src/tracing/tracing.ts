/**
 * OpenTelemetry traces: of requests, and of what becomes of the runs that they create. The SDK is loaded only where a
 * collector is named; without one nothing of this costs anything.
 */
import type { MiddlewareHandler } from "hono"
import type { RunObserver } from "../runs/observer.js"

export interface Tracing {
  /** A span for each request, from its first byte to its reply's last. */
  readonly middleware: MiddlewareHandler
  /** Spans for a run's wait in the queue and its execution, below the request that created it. */
  readonly observer: RunObserver
  /** W3C `traceparent` of the request that is being answered: a run keeps it, whichever server executes it. */
  traceparent(): string | undefined
  /** Sends what is left. Rejects when the collector does not take it. */
  close(): Promise<void>
}
