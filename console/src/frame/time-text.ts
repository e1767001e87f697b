/** Times, durations and sizes as texts: the one format of each for all pages. Pure. */
const units = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["min", 60_000],
] as const

const oldMs = 30 * 86_400_000

/** Such as `3 min ago` or `in 2 h`; `just now` within a minute; the day for what is more than a month away. */
export function relativeTime(at: number, now: number): string {
  const distance = Math.abs(at - now)
  if (distance > oldMs) return dayOf(at)
  const unit = units.find(([, ms]) => distance >= ms)
  if (!unit) return "just now"
  const text = `${Math.trunc(distance / unit[1])} ${unit[0]}`
  return at > now ? `in ${text}` : `${text} ago`
}

const two = (value: number) => String(value).padStart(2, "0")

/** The day in the reader's zone, such as `2026-01-31`. */
export function dayOf(time: string | number): string {
  const at = new Date(time)
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`
}

/** The time of the day in the reader's zone, such as `08:00:05.123`: equally wide for all lines of a list. */
export function clockOf(time: string | number): string {
  const at = new Date(time)
  const ms = String(at.getMilliseconds()).padStart(3, "0")
  return `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}.${ms}`
}

/** The whole time in the reader's zone, such as `2026-01-31 08:00:05`. */
export const exactly = (time: string | number): string => `${dayOf(time)} ${clockOf(time).slice(0, 8)}`

/** Such as `420 ms`, `8.2 s`, `3 min 5 s`, `2 h 10 min`. */
export function durationText(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`
  if (ms < 60_000) return `${(Math.floor(ms / 100) / 10).toFixed(1)} s`
  const seconds = Math.floor(ms / 1000)
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`
}

const steps = ["B", "kB", "MB", "GB", "TB"]

/** Such as `12 kB`, `1.4 GB`; by thousands. */
export function sizeText(bytes: number): string {
  const step = Math.min(steps.length - 1, Math.max(0, Math.floor(Math.log10(Math.max(1, bytes)) / 3)))
  const value = bytes / 1000 ** step
  return `${value >= 10 || step === 0 ? Math.round(value) : value.toFixed(1)} ${steps[step]}`
}
