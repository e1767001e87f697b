/** Metadata as a person types it in a filter. Pure. */

/**
 * Reads `customer:42 plan:"pro plus"`, or a JSON object. A value that is JSON (a number, true, a quoted text) is that value;
 * every other one is text. Text without a colon is left out: it is still being typed.
 */
export function metadataOf(text: string): Record<string, unknown> {
  const whole = text.trim()
  if (whole.startsWith("{")) {
    const object = parsed(whole)
    return typeof object === "object" && object !== null ? (object as Record<string, unknown>) : {}
  }
  const pairs = whole.matchAll(/(?<![^\s:,])([^\s:,]+):("(?:[^"\\]|\\.)*"|[^\s,]+)/g)
  return Object.fromEntries([...pairs].map(([, key = "", value = ""]) => [key, parsed(value)]))
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
