/** A collector of OpenTelemetry: it takes traces over OTLP/HTTP, in JSON, and keeps what came. */
import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"

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
}

export async function startCollector(): Promise<Collector> {
  const spans: CollectedSpan[] = []
  const server = createServer(async (request, response) => {
    let text = ""
    for await (const chunk of request) text += chunk
    const { resourceSpans } = JSON.parse(text) as ExportRequest
    for (const { scopeSpans } of resourceSpans) {
      for (const scope of scopeSpans) spans.push(...scope.spans.map(withNamedAttributes))
    }
    response.writeHead(200, { "content-type": "application/json" }).end("{}")
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const stop = async () => {
    server.close()
    server.closeAllConnections()
  }
  return { spans, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, [Symbol.asyncDispose]: stop }
}

const withNamedAttributes = (span: WireSpan): CollectedSpan => ({
  ...span,
  attributes: Object.fromEntries(span.attributes.map(({ key, value }) => [key, Object.values(value)[0]])),
})
