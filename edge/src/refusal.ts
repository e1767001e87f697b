/** The edge's own error answers, in the format that LangGraph's clients read (`detail`). Pure. */
import type { CodeOf } from "@superstep/toolkit/errors/codes"
import { errorBody } from "@superstep/toolkit/http/error-body"
import type { Route } from "./table.js"

type Status = 400 | 401 | 403 | 404 | 413 | 429 | 500 | 502 | 503

/** A code has only the statuses that its entry names. */
type StatusAndCode = { [S in Status]: { readonly status: S; readonly code: CodeOf<S> } }[Status]

export type Refusal = StatusAndCode & {
  readonly detail: string
  /** Seconds after which a retry may succeed. */
  readonly retryAfterSeconds?: number
}

export const notReachable = (path: string): Refusal => ({
  status: 404,
  code: "not_found",
  detail: `No deployment is reachable at ${path}`,
})

export const noSuchPath = (path: string): Refusal => ({ status: 404, code: "not_found", detail: `${path} not found` })

export const malformed = (detail: string): Refusal => ({ status: 400, code: "invalid_input", detail })

export const unauthenticated: Refusal = {
  status: 401,
  code: "unauthenticated",
  detail: "send an API key of the deployment's workspace in the header x-api-key",
}

export const readOnlyKey: Refusal = {
  status: 403,
  code: "scope_missing",
  detail: "this key may only read: to run the agent, send a key with the scope run, deploy or admin",
}

/** The table is of an older release; a new one follows within seconds. */
export const unknownRight: Refusal = {
  status: 503,
  code: "unavailable",
  detail:
    "the edge has just started and does not know the rights of this key yet: the request was not executed, try again",
  retryAfterSeconds: 1,
}

export const httpsRequired = (host: string): Refusal => ({
  status: 403,
  code: "https_required",
  detail: `send requests to https://${host}, and replace a key that you have sent without encryption`,
})

export const tooLarge = (limitBytes: number): Refusal => ({
  status: 413,
  code: "too_large",
  detail: `the request's body is larger than ${limitBytes} bytes`,
})

/** Nothing was sent: the same request may safely be retried. */
export const unreachable = (name: string): Refusal => ({
  status: 503,
  code: "unavailable",
  detail: `the agent at /d/${name} cannot be reached at the moment: the request was not executed, try again`,
  retryAfterSeconds: 1,
})

/** Its owner paused the deployment: a retry does not help. */
export const paused = (name: string): Refusal => ({
  status: 503,
  code: "paused",
  detail: `the deployment at /d/${name} is paused: resume it with POST /v2/deployments/{deployment_id}/resume`,
})

/** The deployment sleeps, and the machine or the database has no room for it until another one sleeps or stops. */
export const noRoom = (name: string): Refusal => ({
  status: 503,
  code: "capacity",
  detail: `the agent at /d/${name} sleeps and cannot be started: the platform has no capacity for it at the moment`,
  retryAfterSeconds: 10,
})

/** The deployment was asked to wake up and is still asleep. Nothing was sent. */
export const stillAsleep = (name: string): Refusal => ({
  status: 503,
  code: "waking",
  detail: `the agent at /d/${name} did not wake up in time: the request was not executed, try again`,
  retryAfterSeconds: 5,
})

export const tooManyHeld = (name: string): Refusal => ({
  status: 503,
  code: "waking",
  detail: `the agent at /d/${name} is waking up, and too many requests wait for it: the request was not executed, try again`,
  retryAfterSeconds: 2,
})

export const tooManyRequests = ({ name, max_requests_per_second: most }: Route): Refusal => ({
  status: 429,
  code: "rate_limited",
  detail: `the deployment at /d/${name} accepts ${most} requests per second: try again in a moment`,
  retryAfterSeconds: 1,
})

/** The request was sent and the connection broke before an answer started: it is unknown what the unit did. */
export const brokenOff = (name: string): Refusal => ({
  status: 502,
  code: "bad_gateway",
  detail: `the agent at /d/${name} closed the connection before it answered: check whether the request was executed before you repeat it`,
  retryAfterSeconds: 1,
})

/** The request was executed. */
export const largeHeaders = (name: string, mostBytes: number): Refusal => ({
  status: 502,
  code: "bad_gateway",
  detail: `the agent at /d/${name} answered with headers above ${mostBytes / 1024} KB, which are not passed on: shorten them`,
})

export const internalError: Refusal = { status: 500, code: "internal", detail: "internal error" }

/** A refusal as status line, headers and body. */
export function renderRefusal({ status, code, detail, retryAfterSeconds }: Refusal, requestId: string) {
  const body = JSON.stringify(errorBody(detail, code, requestId))
  const headers: Record<string, string> = {
    "content-type": "application/json",
    "content-length": String(Buffer.byteLength(body)),
    // The agent's own CORS settings do not apply to a request that never reached it. Without this header a browser would
    // show "CORS error" in place of the reason, such as a wrong key; nothing here is secret from a page.
    "access-control-allow-origin": "*",
    "access-control-expose-headers": "retry-after,x-request-id",
    "x-request-id": requestId,
  }
  if (retryAfterSeconds !== undefined) headers["retry-after"] = String(retryAfterSeconds)
  return { status, headers, body }
}
