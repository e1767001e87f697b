/** The error of a task as a sentence. Pure. */

/** @param error  a text; an object with name and message; or its JSON, as the JavaScript library stores it */
export function errorText(error: unknown): string | undefined {
  if (error === null || error === undefined) return undefined
  const { name, message } = (typeof error === "string" ? parsed(error) : error) as { name?: unknown; message?: unknown }
  if (typeof message !== "string") return typeof error === "string" ? error : JSON.stringify(error)
  return typeof name === "string" && name !== "" ? `${name}: ${message}` : message
}

/** Whether a task was stopped because another one failed: LangGraph in JavaScript stores that as an error of its own. */
export const isAborted = (error: unknown): boolean =>
  /^(AbortError|GraphBubbleUp|CancelledError)\b/.test(errorText(error) ?? "")

function parsed(text: string): object {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === "object" && value !== null ? value : {}
  } catch {
    // Python's errors are texts, not JSON.
    return {}
  }
}
