/** When a cron is due: five fields in a time zone. Pure. */
import { Cron } from "croner"

/** The longest text that is read as a schedule: a list of every minute of an hour, and more. */
export const mostScheduleChars = 1000

const fields = /^\S+(\s+\S+){4}$/
const nickname = /^@[a-z]+$/i

/**
 * The first due time after a moment (rules CR5 and CR6).
 * @param schedule  `minute hour day-of-month month day-of-week`, or a name such as `@daily`
 * @param timezone  an IANA name; null means UTC
 * @returns         null when there is none: 30 February
 * @throws Error    in words for a person, when it is no schedule
 */
export function nextRun(schedule: string, timezone: string | null, after: Date): Date | null {
  const text = schedule.trim()
  if (!fields.test(text) && !nickname.test(text)) {
    // Seconds would come first for some libraries and last for others, so six fields would mean two things.
    throw new Error("expected five fields (minute hour day-of-month month day-of-week) or a name such as @daily")
  }
  const zone = timezone ?? "UTC"
  const cron = new Cron(text, { timezone: zone, paused: true, mode: "5-part", sloppyRanges: true })
  return cron.nextRun(after)
}

/** What is wrong with a schedule, in words for a person; undefined when nothing is. */
export function scheduleProblem(schedule: string): string | undefined {
  try {
    if (nextRun(schedule, null, new Date()) === null) return "this schedule is never due"
    return undefined
  } catch (error) {
    return (error as Error).message.replace(/^Cron\w+: /, "")
  }
}

/** Whether this is a time zone's name, as `Europe/Berlin`; an offset is none, since it knows no summer. */
export function isTimezone(name: string): boolean {
  if (!/^[A-Za-z]/.test(name)) return false
  try {
    new Intl.DateTimeFormat("en", { timeZone: name })
    return true
  } catch {
    // A RangeError is the answer.
    return false
  }
}

export interface Plan {
  readonly schedule: string
  readonly timezone: string | null
  readonly enabled: boolean
  readonly end_time: Date | null
}

/** When a cron fires next; null when it is disabled or its time is over. */
export function nextRunDate({ schedule, timezone, enabled, end_time }: Plan, after: Date): Date | null {
  if (!enabled) return null
  const next = nextRun(schedule, timezone, after)
  return next === null || (end_time !== null && next > end_time) ? null : next
}
