/** The one place where an error becomes an HTTP reply. */
import type { Context } from "hono"
import { HTTPException } from "hono/http-exception"
import type { ContentfulStatusCode } from "hono/utils/http-status"
import {
  Conflict,
  Denied,
  Forbidden,
  InvalidInput,
  KnownError,
  NotFound,
  NotReady,
  PreconditionFailed,
  Refused,
  TooLarge,
  TooManyRequests,
  Unauthenticated,
  Unavailable,
  UnsupportedBody,
} from "../errors/errors.js"
import type { Log } from "../log/log.js"
import { errorBody } from "./error-body.js"

interface Kind {
  readonly status: ContentfulStatusCode
  readonly level: "debug" | "info" | "warn" | "error"
}

const kindOf = (error: KnownError): Kind => {
  if (error instanceof InvalidInput) return { status: 422, level: "debug" }
  if (error instanceof Denied) return { status: error.status as ContentfulStatusCode, level: "info" }
  if (error instanceof Refused) return { status: 400, level: "debug" }
  if (error instanceof Unauthenticated) return { status: 401, level: "info" }
  if (error instanceof Forbidden) return { status: 403, level: "info" }
  if (error instanceof NotFound) return { status: 404, level: "debug" }
  if (error instanceof Conflict) return { status: 409, level: "info" }
  if (error instanceof PreconditionFailed) return { status: 412, level: "info" }
  if (error instanceof TooLarge) return { status: 413, level: "info" }
  if (error instanceof UnsupportedBody) return { status: 415, level: "debug" }
  if (error instanceof TooManyRequests) return { status: 429, level: "info" }
  if (error instanceof NotReady) return { status: 503, level: "debug" }
  if (error instanceof Unavailable) return { status: 503, level: "warn" }
  return { status: 500, level: "error" }
}

/**
 * The form of the problems in a 422: `text` is the agent server's `{"detail": "…"}`, `list` the control plane's
 * FastAPI form `{"detail": [{"loc", "msg", "type"}]}`.
 */
export type DetailStyle = "text" | "list"

const detailOf = (error: KnownError, style: DetailStyle): unknown =>
  error instanceof InvalidInput && style === "list"
    ? error.problems.map(({ path, message, type }) => ({ loc: path, msg: message, type }))
    : error.message

// The reply is JSON and its length is its own.
const ofTheBody = new Set(["content-type", "content-length", "content-encoding", "transfer-encoding", "connection"])

function addHeaders(c: Context, headers: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(headers)) if (!ofTheBody.has(name.toLowerCase())) c.header(name, value)
}

export interface Reply {
  readonly status: ContentfulStatusCode
  readonly headers: Readonly<Record<string, string>>
  readonly body: { readonly detail: unknown; readonly code?: string; readonly [extra: string]: unknown }
}

export interface ErrorOptions {
  readonly log: Log
  readonly detail: DetailStyle
}

/** Logs any error and decides its reply. Known ones show their message; a bug shows only the request's id, and its stack is logged. */
export const replyToError =
  ({ log, detail }: ErrorOptions) =>
  (error: Error, c: Context): Reply => {
    const requestId = c.get("requestId")
    // Hono's own refusals, such as a body over the limit.
    if (error instanceof HTTPException) return { status: error.status, headers: {}, body: { detail: error.message } }
    if (!(error instanceof KnownError)) {
      log.error({ err: error, request_id: requestId, method: c.req.method, path: c.req.path }, "request failed")
      return { status: 500, headers: {}, body: errorBody("internal error", "internal", requestId) }
    }
    const { status, level } = kindOf(error)
    log[level]({ request_id: requestId, method: c.req.method, path: c.req.path, code: error.code }, error.message)
    const mayComeBack = error instanceof Unavailable || error instanceof TooManyRequests
    const headers = {
      ...(mayComeBack && { "retry-after": String(Math.ceil(error.retryAfterMs / 1000)) }),
      ...(error instanceof Denied && error.headers),
    }
    const extra = error instanceof Conflict ? error.extra : {}
    return { status, headers, body: { ...errorBody(detailOf(error, detail), error.code, requestId), ...extra } }
  }

/**
 * Renders any error as `replyToError` decides.
 * @returns  a handler for Hono's `app.onError`
 */
export function errorHandler(options: ErrorOptions): (error: Error, c: Context) => Response {
  const replyTo = replyToError(options)
  return (error, c) => {
    if (error instanceof HTTPException && error.res) return error.res
    const { status, headers, body } = replyTo(error, c)
    addHeaders(c, headers)
    return c.json(body, status)
  }
}
