/** Follows whether the guest answers `GET /ok`. That is all that is known of a server that somebody else wrote. */
import { get } from "node:http"
import { setTimeout as sleep } from "node:timers/promises"
import { isDeepStrictEqual } from "node:util"

export interface GuestHealth {
  /** Its last answer to /ok had a status from 200 to 299. */
  isReady(): boolean
  /** It has answered the last request for /ok in time, whatever it said; also true before it has answered for the first time. */
  isResponsive(): boolean
  /** Nothing listens any more on its port: it has probably exited. */
  isGone(): boolean
  /** Calls `onChange` when one of these has changed. @returns  a function that ends this */
  watch(onChange: () => void): () => unknown
  stop(): void
}

export interface HealthTimes {
  /** Pauses between two requests, before the guest is ready and after. */
  readonly startingMs: number
  readonly steadyMs: number
  /** How long an answer may take. */
  readonly limitMs: number
}

const usualTimes: HealthTimes = { startingMs: 100, steadyMs: 1000, limitMs: 5000 }

export function followGuest(port: number, times: HealthTimes = usualTimes): GuestHealth {
  const stopping = new AbortController()
  const watchers = new Set<() => void>()
  let now = { isReady: false, isResponsive: true, isGone: false }
  let hasAnswered = false

  const look = async (): Promise<void> => {
    const answer = await answerOf(port, times.limitMs)
    const isAnswer = typeof answer === "number"
    hasAnswered ||= isAnswer
    const next = {
      isReady: isAnswer && answer >= 200 && answer < 300,
      isResponsive: isAnswer || !hasAnswered,
      isGone: answer === "refused" && hasAnswered,
    }
    const hasChanged = !isDeepStrictEqual(next, now)
    now = next
    if (hasChanged) for (const onChange of watchers) onChange()
  }
  const follow = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      await look()
      // Ends early by `stop`, which is no failure.
      await sleep(now.isReady ? times.steadyMs : times.startingMs, undefined, { signal: stopping.signal }).catch(
        () => undefined,
      )
    }
  }
  void follow()
  return {
    isReady: () => now.isReady,
    isResponsive: () => now.isResponsive,
    isGone: () => now.isGone,
    watch: (onChange) => {
      watchers.add(onChange)
      return () => watchers.delete(onChange)
    },
    stop: () => stopping.abort(),
  }
}

/** @returns  the status; or that nothing listens there, or answers in time */
const answerOf = (port: number, limitMs: number): Promise<number | "refused" | "silent"> =>
  new Promise((resolve) => {
    const signal = AbortSignal.timeout(limitMs)
    get({ host: "127.0.0.1", port, path: "/ok", agent: false, signal }, (response) => {
      response.on("error", () => undefined).resume()
      resolve(response.statusCode ?? 0)
    }).on("error", ({ code }: NodeJS.ErrnoException) => resolve(code === "ECONNREFUSED" ? "refused" : "silent"))
  })
