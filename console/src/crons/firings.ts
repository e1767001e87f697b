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

/** A time in the cron's own zone, such as `Wed 2026-11-25 08:00`. */
export function inZone(at: Date, timezone: string | null): string {
  const timeZone = timezone ?? "UTC"
  const day = at.toLocaleDateString("en-GB", { timeZone, weekday: "short" })
  // Sweden's format is that of ISO 8601.
  return `${day} ${at.toLocaleString("sv-SE", { timeZone, dateStyle: "short", timeStyle: "short" })}`
}
