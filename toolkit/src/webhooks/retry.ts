/** Decides when a failed delivery is retried, and whether. Pure. */
import { type StorableText, storableText } from "../text/storable.js"
import type { CallResult } from "./send.js"

// The status means that the address is gone for good (RFC 9110, 15.5.11).
const gone = 410

const second = 1000
const minute = 60 * second
const hour = 60 * minute

/**
 * In milliseconds, after the first try, the second …: soon after a short failure, then with growing pauses. A receiver that is
 * repaired within half a day gets everything.
 */
export const delaysOfHalfADayMs: readonly number[] = [
  5 * second,
  30 * second,
  2 * minute,
  10 * minute,
  30 * minute,
  hour,
  2 * hour,
  4 * hour,
  6 * hour,
]

// Spreads the calls, so that a receiver that is back does not get all of them at once.
const jitter = 0.2

/**
 * How long to wait after a failed try.
 * @param delaysMs  how long to wait after the first, the second … try, in milliseconds
 * @param tries     how many were made, from 1
 * @param random    from 0 to 1; the wait is that much shorter or longer, by a fifth at most
 * @param askedMs   the shortest wait that the receiver accepts
 * @returns         milliseconds; undefined when it was tried often enough
 */
export function retryDelayMs(
  delaysMs: readonly number[],
  tries: number,
  random: number,
  askedMs = 0,
): number | undefined {
  const delay = delaysMs[tries - 1]
  if (delay === undefined) return undefined
  return Math.round(Math.max(askedMs * (1 + jitter * random), delay * (1 - jitter + 2 * jitter * random)))
}

const mostFailureCharacters = 1000

/** The consequence of a try. */
export interface Verdict {
  readonly state: "pending" | "delivered" | "dead"
  /** When to retry, in milliseconds from now; only while it is pending. */
  readonly againMs: number | undefined
  /** Why it was not delivered, as text. */
  readonly failure: StorableText | undefined
}

/**
 * @param isStopping  the process aborted the call: no fault of the receiver
 */
export function resultOfTry(
  { status, error, askedMs }: CallResult,
  { delaysMs, tries, isStopping }: { delaysMs: readonly number[]; tries: number; isStopping: boolean },
): Verdict {
  const failure = failureOf(status, error)
  if (failure === undefined) return { state: "delivered", againMs: undefined, failure }
  if (status === undefined && isStopping) return { state: "pending", againMs: 0, failure }
  const againMs = status === gone ? undefined : retryDelayMs(delaysMs, tries, Math.random(), askedMs)
  return { state: againMs === undefined ? "dead" : "pending", againMs, failure }
}

function failureOf(status: number | undefined, error: string | undefined): StorableText | undefined {
  const failure = reasonOf(status, error)
  return failure === undefined ? undefined : storableText(failure, mostFailureCharacters)
}

function reasonOf(status: number | undefined, error: string | undefined): string | undefined {
  if (status === undefined) return error ?? "no answer"
  if (status >= 300 && status < 400) return "the answer was a redirect, which is not followed"
  return status >= 200 && status < 300 ? undefined : `the answer had the status ${status}`
}
