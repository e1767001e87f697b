/** Where a log shows the day, in the reader's zone. Pure. */
import { dayOf } from "../frame/time-text.js"

/** @returns  the day to show above a line: of the first line, and of the first one of each further day */
export function dayAbove(timestamp: string, before: string | undefined): string | undefined {
  const day = dayOf(timestamp)
  return before !== undefined && dayOf(before) === day ? undefined : day
}
