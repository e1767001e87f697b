import { type Explained, explainedOf } from "./explained.js"

interface ErrorFacts {
  readonly next?: string | undefined
  readonly explained?: Explained | undefined
  readonly requestId?: string | undefined
}

/** A reply of one of our APIs that is no success, as a sentence. */
export class ApiError extends Error {
  readonly next: string | undefined
  readonly explained: Explained | undefined
  /** Finds the request in the log of the server. */
  readonly requestId: string | undefined
  constructor(
    readonly status: number,
    /** Such as `not_found`; "" if the reply has none. */
    readonly code: string,
    message: string,
    /** What to do about it, where the status does not tell; where its code is explained. */
    { next, explained, requestId }: ErrorFacts = {},
  ) {
    super(message)
    this.next = next
    this.explained = explained
    this.requestId = requestId
  }
}

/** Where a page has added to a reply what to do about it. */
export const nextStepField = "console_next_step"

/** Whether the caller must sign in. An error with a next step of its own, such as a refusal by an agent's rules, is no such case. */
export const isSignedOut = (error: unknown): boolean =>
  error instanceof ApiError && error.status === 401 && error.next === undefined

/** @param body  what the server answered: usually `{ detail, code, doc_url }` */
export function apiErrorOf(status: number, body: unknown): ApiError {
  const {
    detail,
    code,
    doc_url,
    request_id,
    [nextStepField]: next,
  } = (typeof body === "object" && body !== null ? body : {}) as Record<string, unknown>
  const text = textOf(detail) || `The server answered with ${status}.`
  return new ApiError(status, typeof code === "string" ? code : "", text, {
    next: typeof next === "string" ? next : undefined,
    explained: explainedOf(code, doc_url),
    requestId: typeof request_id === "string" ? request_id : undefined,
  })
}

/** Control planes answer invalid input with a list of `{ loc, msg }`, as FastAPI does. */
function textOf(detail: unknown): string {
  if (typeof detail === "string") return detail
  if (!Array.isArray(detail)) return ""
  return detail
    .map(({ loc, msg }: { loc?: unknown; msg?: unknown }) => {
      const place = Array.isArray(loc) ? loc.filter((part) => part !== "body").join(".") : ""
      return [place, typeof msg === "string" ? msg : ""].filter((part) => part !== "").join(": ")
    })
    .join("; ")
}

/** Resolves to the JSON of a reply, or to undefined if it has no body. @throws ApiError  the status is not 2xx */
export async function jsonOf(reply: Response): Promise<unknown> {
  const text = await reply.text()
  const body = parsed(text)
  if (!reply.ok) throw apiErrorOf(reply.status, body ?? { detail: text.slice(0, 300) })
  return body
}

function parsed(text: string): unknown {
  try {
    return text === "" ? undefined : JSON.parse(text)
  } catch {
    return undefined
  }
}
