/** Metadata as a person types it in a filter. Pure. */

/**
 * Reads `customer:42 plan:"pro plus"`, or a JSON object. A value that is JSON (a number, true, a quoted text) is that value;
 * every other one is text. Text without a colon is left out: see `unreadIn`.
 */
export function metadataOf(text: string): Record<string, unknown> {
  const whole = text.trim()
  if (whole.startsWith("{")) {
    const object = parsed(whole)
    return typeof object === "object" && object !== null ? (object as Record<string, unknown>) : {}
  }
  const pairs = whole.matchAll(pair)
  return Object.fromEntries([...pairs].map(([, key = "", value = ""]) => [key, parsed(value)]))
}

const pair = /(?<![^\s:,])([^\s:,]+):("(?:[^"\\]|\\.)*"|[^\s,]+)/g

/** @returns  what of the text is no filter, since it is no pair; undefined if all of it is one */
export function unreadIn(text: string): string | undefined {
  const whole = text.trim()
  if (whole.startsWith("{")) return typeof parsed(whole) === "object" ? undefined : whole
  return (
    whole
      .replaceAll(pair, "")
      .replaceAll(/[\s,]+/g, " ")
      .trim() || undefined
  )
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
