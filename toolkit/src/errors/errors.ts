/**
 * Errors that say what happened. They are independent of HTTP and exit codes: `http/errors.ts` turns them into replies,
 * the CLI's `main.ts` into messages. Anything that is not a KnownError is a bug.
 */
import type { CodeOf, ErrorCode } from "./codes.js"

/** An error whose message is meant for the person who caused it, with a stable `code` for programs. */
export abstract class KnownError extends Error {
  abstract readonly code: ErrorCode

  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = new.target.name
  }
}

/** One problem of an input: where it is and what was expected there. */
export interface Problem {
  /** For example `["body", "source_config", "repo_url"]`. */
  readonly path: readonly (string | number)[]
  readonly message: string
  /** FastAPI's vocabulary where it has a word (`missing`, `value_error`), since clients print it. */
  readonly type: string
}

/** The input cannot be used; nothing was changed. Contains all problems at once. */
export class InvalidInput extends KnownError {
  readonly code: CodeOf<422>
  readonly problems: readonly Problem[]

  constructor(problems: readonly Problem[] | string, code: CodeOf<422> = "invalid_input") {
    const list = typeof problems === "string" ? [{ path: ["body"], message: problems, type: "value_error" }] : problems
    super(list.map(({ path, message }) => `${path.join(".")}: ${message}`).join("; "))
    this.problems = list
    this.code = code
  }
}

/** Well formed, but a rule of the platform forbids it in any state. */
export class Refused extends KnownError {
  readonly code: CodeOf<400>
  constructor(message: string, code: CodeOf<400> = "refused") {
    super(message)
    this.code = code
  }
}

export class Unauthenticated extends KnownError {
  readonly code: CodeOf<401>
  constructor(message: string, code: CodeOf<401> = "unauthenticated") {
    super(message)
    this.code = code
  }
}

export class Forbidden extends KnownError {
  readonly code: CodeOf<403>
  constructor(message: string, code: CodeOf<403> = "forbidden") {
    super(message)
    this.code = code
  }
}

/** The user's own rules refuse it, with a status, a text and headers of their choice. */
export class Denied extends KnownError {
  readonly code: ErrorCode
  /** 300 to 599. */
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  constructor(message: string, { status, headers }: { status: number; headers: Readonly<Record<string, string>> }) {
    super(message)
    this.code = deniedCodes[status] ?? "denied"
    this.status = status
    this.headers = headers
  }
}

/** The same codes as for the platform's own refusals. */
const deniedCodes: Readonly<Record<number, ErrorCode>> = { 401: "unauthenticated", 403: "forbidden", 404: "not_found" }

export class NotFound extends KnownError {
  readonly code = "not_found"
}

/** The present state forbids it. `extra` is added to the reply's body, such as `conflicting_id`. */
export class Conflict extends KnownError {
  readonly code: CodeOf<409>
  readonly extra: Readonly<Record<string, unknown>>
  constructor(message: string, code: CodeOf<409> = "conflict", extra: Readonly<Record<string, unknown>> = {}) {
    super(message)
    this.code = code
    this.extra = extra
  }
}

/** A precondition of the caller (`If-Match`) no longer holds. */
export class PreconditionFailed extends KnownError {
  readonly code = "precondition_failed"
}

/** Not now; a retry after `retryAfterMs` may succeed. */
export class Unavailable extends KnownError {
  readonly code = "unavailable"
  readonly retryAfterMs: number
  constructor(message: string, retryAfterMs = 1000, options?: ErrorOptions) {
    super(message, options)
    this.retryAfterMs = retryAfterMs
  }
}

/** The caller exceeds its limit; after `retryAfterMs` it may continue. */
export class TooManyRequests extends KnownError {
  readonly code = "too_many_requests"
  readonly retryAfterMs: number
  constructor(message: string, retryAfterMs = 1000) {
    super(message)
    this.retryAfterMs = retryAfterMs
  }
}

/** Not yet: the process is starting. Expected, so it is not logged as a warning. */
export class NotReady extends Unavailable {}

/** The body is larger than this server reads. */
export class TooLarge extends KnownError {
  readonly code = "too_large"
}

/** The body has a form that this server does not read. */
export class UnsupportedBody extends KnownError {
  readonly code = "unsupported_body"
}

/** Completes a switch or an if-ladder over a union: the compiler proves that it is never reached. */
export function assertNever(value: never): never {
  throw new Error(`unexpected value: ${JSON.stringify(value)}`)
}
