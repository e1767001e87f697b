/** A collector of OpenTelemetry: it takes traces over OTLP/HTTP, in JSON, and keeps what came. */
import { portServer } from "./http-server.js"

export interface CollectedSpan {
  readonly name: string
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  /** 1: internal, 2: of a server, 3: of a client. */
  readonly kind: number
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  /** 2: an error. */
  readonly status: { readonly code?: number; readonly message?: string }
  /** By name. */
  readonly attributes: Readonly<Record<string, unknown>>
  readonly events?: readonly { readonly name: string }[]
}

interface WireSpan extends Omit<CollectedSpan, "attributes"> {
  readonly attributes: readonly { readonly key: string; readonly value: Readonly<Record<string, unknown>> }[]
}

interface ExportRequest {
  readonly resourceSpans: readonly { readonly scopeSpans: readonly { readonly spans: readonly WireSpan[] }[] }[]
}

export interface Collector extends AsyncDisposable {
  /** Its address, as in `OTEL_EXPORTER_OTLP_ENDPOINT`. */
  readonly url: string
  readonly spans: readonly CollectedSpan[]
  /** How many spans each request had. */
  readonly requestSizes: readonly number[]
}

export async function startCollector(): Promise<Collector> {
  const spans: CollectedSpan[] = []
  const requestSizes: number[] = []
  const server = await portServer(async (request, response) => {
    let text = ""
    for await (const chunk of request) text += chunk
    const { resourceSpans } = JSON.parse(text) as ExportRequest
    const received = resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans))
    requestSizes.push(received.length)
    spans.push(...received.map(withNamedAttributes))
    response.writeHead(200, { "content-type": "application/json" }).end("{}")
  })
  return { ...server, url: server.origin, spans, requestSizes }
}

const withNamedAttributes = (span: WireSpan): CollectedSpan => ({
  ...span,
  attributes: Object.fromEntries(span.attributes.map(({ key, value }) => [key, Object.values(value)[0]])),
})
