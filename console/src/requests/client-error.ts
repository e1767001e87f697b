/** Failed requests of the official client, whose message is the raw body of the reply. Pure. */
import { ApiError, apiErrorOf } from "./api-error.js"

/** @returns  undefined for an error that is not one of the official client's replies */
export function agentFailureOf(error: unknown): ApiError | undefined {
  if (!(error instanceof Error)) return undefined
  const { status, text } = error as { status?: unknown; text?: unknown }
  if (typeof status !== "number" || typeof text !== "string") return undefined
  return apiErrorOf(status, parsed(text) ?? { detail: text.slice(0, 300) })
}

/** What an error says, in a list of several. */
export function failureText(error: unknown): string {
  // A browser says no more of a request that got no answer.
  if (error instanceof TypeError) return "It cannot be reached."
  const shown = agentFailureOf(error) ?? error
  return shown instanceof Error ? shown.message : String(shown)
}

/** Whether a server has refused something, which the page says itself; anything else is a fault of the page. */
export const isRefusal = (error: unknown): boolean => error instanceof ApiError || agentFailureOf(error) !== undefined

function parsed(text: string): object | undefined {
  try {
    const body: unknown = JSON.parse(text)
    return typeof body === "object" && body !== null ? body : undefined
  } catch {
    return undefined
  }
}
