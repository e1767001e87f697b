/** Times, durations and sizes as texts. */
const units = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
] as const

const relative = new Intl.RelativeTimeFormat("en", { numeric: "always", style: "short" })

/** Such as `3 min. ago`; `now` within a minute. */
export function relativeTime(at: number, now: number): string {
  const distance = at - now
  const unit = units.find(([, ms]) => Math.abs(distance) >= ms)
  return unit ? relative.format(Math.trunc(distance / unit[1]), unit[0]) : "just now"
}

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
