/** Times as people read them. Pure. */

const units: readonly (readonly [ms: number, name: string])[] = [
  [86_400_000, "d"],
  [3_600_000, "h"],
  [60_000, "min"],
  [1000, "s"],
]

/** Such as `5 min ago`; the date for what is older than a month. */
export function ago(time: string, now: number): string {
  const ms = now - Date.parse(time)
  if (Number.isNaN(ms)) return ""
  if (ms > 30 * 86_400_000) return time.slice(0, 10)
  const unit = units.find(([size]) => ms >= size)
  return unit ? `${Math.floor(ms / unit[0])} ${unit[1]} ago` : "now"
}

/** The whole time, in the reader's own zone. */
export const exactly = (time: string): string =>
  new Date(time).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "medium" })
