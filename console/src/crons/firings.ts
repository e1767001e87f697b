/** When a cron fires next: the same library and settings as in the server (server/src/crons/schedule.ts). Pure. */
import { Cron } from "croner"

/**
 * @param timezone  an IANA name; null means UTC
 * @returns         up to `count` times after `after`; none for a schedule that is invalid or never due
 */
export function nextFirings(
  schedule: string,
  timezone: string | null,
  { after, count }: { after: Date; count: number },
): Date[] {
  try {
    const cron = new Cron(schedule.trim(), {
      timezone: timezone ?? "UTC",
      paused: true,
      mode: "5-part",
      sloppyRanges: true,
    })
    return cron.nextRuns(count, after)
  } catch {
    // Half-typed schedules have no times; the server says what is wrong with a whole one.
    return []
  }
}

/** The name of the zone in which a schedule counts. */
export const zoneText = (timezone: string | null): string => timezone ?? "UTC"

/** A time in the cron's own zone, such as `Wed 25 Nov, 08:00`. */
export const inZone = (at: Date, timezone: string | null): string =>
  at.toLocaleString("en-GB", {
    timeZone: timezone ?? "UTC",
    weekday: "short",
    day: "numeric",
    month: "short",
    hour: "2-digit",
    minute: "2-digit",
  })
