/** How far a long piece of work is: one line that changes on a terminal, a line now and then elsewhere. */
import type { Output } from "./output.js"

export interface Progress {
  readonly done: number
  /** Undefined while nobody knows. */
  readonly total: number | undefined
  /** Shown after the numbers, such as "3 failed". */
  readonly note: string
}

const barWidth = 24
const terminalMs = 200
const otherMs = 10_000

/**
 * Shows progress until `stop` is called, which removes the line from a terminal.
 * @param what  the things that are counted: "threads"
 */
export function showProgress(err: Output, what: string, now: () => Progress): { stop(): void } {
  const startedAt = performance.now()
  const text = () => progressText(what, now(), performance.now() - startedAt)
  const show = err.isTerminal ? () => err.write(`\r  ${text()}\u001b[K`) : () => err.line(`  ${text()}`)
  const timer = setInterval(show, err.isTerminal ? terminalMs : otherMs)
  return {
    stop: () => {
      clearInterval(timer)
      if (err.isTerminal) err.write("\r\u001b[K")
    },
  }
}

/** Pure. */
export function progressText(what: string, { done, total, note }: Progress, elapsedMs: number): string {
  const rate = elapsedMs < 1000 ? 0 : (done * 1000) / elapsedMs
  const filled =
    total === undefined || total === 0 ? undefined : Math.min(barWidth, Math.floor((barWidth * done) / total))
  const bar = filled === undefined ? "" : `[${"#".repeat(filled)}${"-".repeat(barWidth - filled)}] `
  const of = total === undefined ? "" : ` of ${Math.max(done, total)}`
  const left = total === undefined || rate === 0 || done >= total ? "" : `, ${durationText((total - done) / rate)} left`
  return `${bar}${done}${of} ${what}${left}${note === "" ? "" : `, ${note}`}`
}

const durationText = (seconds: number): string =>
  seconds < 90
    ? `${Math.ceil(seconds)} s`
    : seconds < 5400
      ? `${Math.round(seconds / 60)} min`
      : `${(seconds / 3600).toFixed(1)} h`
