/** The operator's sink: where log lines are sent, and in which format. Pure. */
import { createHash } from "node:crypto"
import type { Secret } from "@superstep/toolkit/config/settings"
import { webhookHeaders } from "@superstep/toolkit/webhooks/signature"
import { type AddressRules, urlProblem } from "../webhooks/address-rules.js"
import { type ForwardedLine, traceOf } from "./line.js"
import { otlpBody } from "./otlp.js"

export const sinkFormats = ["otlp", "json"] as const
export type SinkFormat = (typeof sinkFormats)[number]

export interface Sink {
  readonly url: string
  readonly format: SinkFormat
  readonly headers: Readonly<Record<string, string>>
  /** `whsec_…`; undefined leaves requests unsigned. */
  readonly secret: string | undefined
}

/** The settings of a sink (`config.ts`). */
export interface SinkSettings {
  readonly logForwardUrl?: string | undefined
  readonly logForwardFormat: SinkFormat
  readonly logForwardHeaders?: Secret | undefined
  readonly logForwardSecret?: Secret | undefined
}

/** @returns  undefined when the operator has set no address */
export function sinkOf(settings: SinkSettings): Sink | undefined {
  const { logForwardUrl: url, logForwardFormat: format } = settings
  if (url === undefined) return undefined
  return {
    url: format === "otlp" ? logsUrl(url) : url,
    format,
    headers: headersOf(settings.logForwardHeaders?.reveal() ?? ""),
    secret: settings.logForwardSecret?.reveal(),
  }
}

/** Why lines may not be sent to this sink; undefined when they may. */
export const sinkProblem = (rules: AddressRules, { url }: Sink): string | undefined => urlProblem(rules, url)

/** An address without a path is a collector's, which takes logs at `/v1/logs` (OTLP/HTTP, "Default paths"). */
function logsUrl(text: string): string {
  const url = new URL(text)
  if (url.pathname === "/") url.pathname = "/v1/logs"
  return url.href
}

// A token of HTTP, and printable text.
const headerEntry = /^\s*([!#$%&'*+.^_`|~0-9A-Za-z-]+)\s*=\s*([\x20-\x7e]*?)\s*$/
const unset = /^(content-type|content-length|host|connection|transfer-encoding)$/i

/** Why a text names no headers; undefined when it does. */
export function headersProblem(text: string): string | undefined {
  const wrong = entries(text).find((entry) => {
    const name = headerEntry.exec(entry)?.[1]
    return name === undefined || unset.test(name) || decoded(entry) === undefined
  })
  return wrong === undefined ? undefined : "expected name=value pairs by comma, with a comma in a value as %2C"
}

const headersOf = (text: string): Record<string, string> =>
  Object.fromEntries(
    entries(text).map((entry) => [headerEntry.exec(entry)?.[1]?.toLowerCase() ?? "", decoded(entry) ?? ""]),
  )

const entries = (text: string): string[] => text.split(",").filter((entry) => entry.trim() !== "")

/** The value of an entry; undefined when its percent-encoding is invalid, or stands for something else than printable text. */
function decoded(entry: string): string | undefined {
  try {
    const value = decodeURIComponent(headerEntry.exec(entry)?.[2] ?? "")
    return /^[\x20-\x7e]*$/.test(value) ? value : undefined
  } catch {
    return undefined
  }
}

export interface SinkRequest {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** @param sentAt  also the time of the signature */
export function requestFor(sink: Sink, lines: readonly ForwardedLine[], sentAt: Date): SinkRequest {
  const body = JSON.stringify(sink.format === "otlp" ? otlpBody(lines) : lines.map(jsonLine))
  const id = `logs_${createHash("sha256").update(body).digest("hex").slice(0, 32)}`
  return {
    url: sink.url,
    body,
    headers: {
      "user-agent": "superstep-logs",
      ...sink.headers,
      ...(sink.secret === undefined ? {} : webhookHeaders({ id, sentAt, body }, sink.secret)),
      "content-type": "application/json",
      "content-length": String(Buffer.byteLength(body)),
    },
  }
}

/** An item of the format `json`. `line_id` is the same when a line is sent again. */
function jsonLine(line: ForwardedLine): Record<string, unknown> {
  const { traceId, spanId } = traceOf(line.message)
  return {
    line_id: String(line.log_line_id),
    timestamp: line.time,
    level: line.level,
    message: line.message,
    service: line.deployment_name,
    stream: line.stream,
    workspace_id: line.workspace_id,
    deployment_id: line.deployment_id,
    revision_id: line.revision_id,
    revision_number: line.revision_number,
    ...(line.run_id && { run_id: line.run_id }),
    ...(traceId && { trace_id: traceId }),
    ...(spanId && { span_id: spanId }),
  }
}
