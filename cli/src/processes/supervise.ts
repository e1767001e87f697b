/**
 * Keeps a process running: when it exits unexpectedly it is restarted, soon if it had run well, later if it keeps failing.
 * `stop` stops it for good. Processes that it started itself are not supervised.
 */
import type { Log } from "@superstep/toolkit/log/log"
import type { Child, Exit } from "./child.js"

const firstDelayMs = 200
const longestDelayMs = 10_000
// A process that ran this long was healthy; its next exit counts as the first.
const settledMs = 30_000

/** How long to wait before the next start. `failures` counts consecutive exits without a settled run, from 1. */
export const restartDelayMs = (failures: number): number => Math.min(longestDelayMs, firstDelayMs * 2 ** (failures - 1))

export interface Supervised {
  /** How the first process exited: for a caller that waits until it is ready, a failed start. */
  readonly first: Promise<Exit>
  stop(graceMs: number, signal?: NodeJS.Signals): Promise<void>
  kill(): void
}

interface Supervision {
  /** Starts the process; called again for each restart. */
  readonly start: () => Promise<Child>
  readonly log: Log
  /** Called each time that it exited unexpectedly. */
  readonly onEnd: (exit: Exit, delayMs: number) => void
}

export async function supervise({ start, log, onEnd }: Supervision): Promise<Supervised> {
  let child = await start()
  const first = child.exited
  const stopping = new AbortController()
  let end: Parameters<Child["stop"]> = [0]

  const restart = async (): Promise<void> => {
    try {
      child = await start()
    } catch (err) {
      // No memory or no disk space: the ended child stays in place, so the next round waits longer and retries.
      log.error({ err }, "a process could not be restarted")
    }
  }
  const loop = async (): Promise<void> => {
    let startedAt = performance.now()
    for (let failures = 1; ; failures += 1) {
      const exit = await child.exited
      if (stopping.signal.aborted) return
      if (performance.now() - startedAt > settledMs) failures = 1
      const delayMs = restartDelayMs(failures)
      log.warn({ exit: exit.words, delay_ms: delayMs }, "a process exited and is being restarted")
      onEnd(exit, delayMs)
      await delayUnlessStopped(delayMs, stopping.signal)
      if (stopping.signal.aborted) return
      startedAt = performance.now()
      await restart()
      if (stopping.signal.aborted) return child.stop(...end)
    }
  }
  const running = loop()
  return {
    first,
    stop: async (...how) => {
      end = how
      stopping.abort()
      await child.stop(...how)
      await running
    },
    kill: () => {
      stopping.abort()
      child.kill()
    },
  }
}

function delayUnlessStopped(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    signal.addEventListener("abort", () => {
      clearTimeout(timer)
      resolve()
    })
  })
}
