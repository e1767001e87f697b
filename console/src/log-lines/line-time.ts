/** When a line was written, in the reader's zone. Pure. */

const two = (value: number) => String(value).padStart(2, "0")

/** Such as `2026-01-31`: the format of the column's headings. */
export function dayOf(timestamp: string): string {
  const at = new Date(timestamp)
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`
}

/** Such as `08:00:05.123`, equally wide for all lines. */
export function clockOf(timestamp: string): string {
  const at = new Date(timestamp)
  const ms = String(at.getMilliseconds()).padStart(3, "0")
  return `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}.${ms}`
}

/** @returns  the day to show above a line: of the first line, and of the first one of each further day */
export function dayAbove(timestamp: string, before: string | undefined): string | undefined {
  const day = dayOf(timestamp)
  return before !== undefined && dayOf(before) === day ? undefined : day
}
