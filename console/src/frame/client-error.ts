/** Failed requests of the official client, whose message is the raw body of the reply. Pure. */
import { type ApiError, apiErrorOf } from "./api-error.js"

export interface AgentFailure {
  readonly error: ApiError
  /** The agent's own code refuses the request: the edge adds the request's id to its refusals, and an agent does not. */
  readonly isByRules: boolean
}

/** @returns  undefined for an error that is not one of the official client's replies */
export function agentFailureOf(error: unknown): AgentFailure | undefined {
  if (!(error instanceof Error)) return undefined
  const { status, text } = error as { status?: unknown; text?: unknown }
  if (typeof status !== "number" || typeof text !== "string") return undefined
  const body = parsed(text)
  return {
    error: apiErrorOf(status, body ?? { detail: text.slice(0, 300) }),
    isByRules: (status === 401 || status === 403) && body?.request_id === undefined,
  }
}

function parsed(text: string): { readonly request_id?: unknown } | undefined {
  try {
    const body: unknown = JSON.parse(text)
    return typeof body === "object" && body !== null ? body : undefined
  } catch {
    return undefined
  }
}
