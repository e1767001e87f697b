/** The attempts of a run, from what the queue recorded. Pure. */
import { parseJson } from "@superstep/toolkit/http/json"
import type { AttemptEnding, RunStatus } from "./run.js"

export interface Attempt {
  readonly attempt: number
  /** Null for an attempt that another release of the server claimed. */
  readonly claimed_at: string | null
  /** Null while it executes. */
  readonly ended_at: string | null
  /** How it ended: the run's final status, or why the run was retried. Null while it executes. */
  readonly ending: AttemptEnding | RunStatus | null
}

export interface AttemptRecord {
  readonly status: string
  readonly attempt: number
  readonly updated_at: Date
  readonly claimed_at: Date | null
  readonly past_attempts: string
}

/** All known attempts, oldest first. A run that waits again has no present attempt. */
export function attemptsOf({ status, attempt, updated_at, claimed_at, past_attempts }: AttemptRecord): Attempt[] {
  const past: Attempt[] = parseJson(past_attempts)
  const isPresentPast = past.some((one) => one.attempt === attempt)
  if (attempt === 0 || isPresentPast || status === "pending") return past.map(withIsoTimes)
  const isOver = status !== "running"
  const present = {
    attempt,
    claimed_at: claimed_at?.toISOString() ?? null,
    ended_at: isOver ? updated_at.toISOString() : null,
    ending: isOver ? (status as RunStatus) : null,
  }
  return [...past.map(withIsoTimes), present]
}

// Postgres writes times in JSON with an offset and microseconds.
const withIsoTimes = (one: Attempt): Attempt => ({
  ...one,
  claimed_at: one.claimed_at === null ? null : new Date(one.claimed_at).toISOString(),
  ended_at: one.ended_at === null ? null : new Date(one.ended_at).toISOString(),
})
