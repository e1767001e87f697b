/** When a cron is due: five fields in a time zone. Pure. */
import { Cron } from "croner"

/** The maximum length of a schedule: enough for a list of every minute of an hour, and more. */
export const maxScheduleChars = 1000

const fields = /^\S+(\s+\S+){4}$/
const nickname = /^@[a-z]+$/i

/**
 * The first due time after a moment (rules CR5 and CR6).
 * @param schedule  `minute hour day-of-month month day-of-week`, or a name such as `@daily`
 * @param timezone  an IANA name; null means UTC
 * @returns         null when there is none, such as for 30 February
 * @throws Error    with a message for a person, when the text is not a schedule
 */
export function nextRun(schedule: string, timezone: string | null, after: Date): Date | null {
  const text = schedule.trim()
  if (!fields.test(text) && !nickname.test(text)) {
    // Some libraries put seconds first and others last, so six fields would be ambiguous.
    throw new Error("expected five fields (minute hour day-of-month month day-of-week) or a name such as @daily")
  }
  const zone = timezone ?? "UTC"
  const cron = new Cron(text, { timezone: zone, paused: true, mode: "5-part", sloppyRanges: true })
  return cron.nextRun(after)
}

/** The problem of a schedule, as a message for a person; undefined for a valid one. */
export function scheduleProblem(schedule: string): string | undefined {
  try {
    if (nextRun(schedule, null, new Date()) === null) return "this schedule is never due"
    return undefined
  } catch (error) {
    return (error as Error).message.replace(/^Cron\w+: /, "")
  }
}

/** Whether this is a time zone's name, such as `Europe/Berlin`; an offset is not, since it has no summer time. */
export function isTimezone(name: string): boolean {
  if (!/^[A-Za-z]/.test(name)) return false
  try {
    new Intl.DateTimeFormat("en", { timeZone: name })
    return true
  } catch {
    // A RangeError means an unknown name.
    return false
  }
}

export interface Plan {
  readonly schedule: string
  readonly timezone: string | null
  readonly enabled: boolean
  readonly end_time: Date | null
}

/** When a cron fires next; null when it is disabled or past its end. */
export function nextRunDate({ schedule, timezone, enabled, end_time }: Plan, after: Date): Date | null {
  if (!enabled) return null
  const next = nextRun(schedule, timezone, after)
  return next === null || (end_time !== null && next > end_time) ? null : next
}
