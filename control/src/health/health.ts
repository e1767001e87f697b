/** What a caller of a deployment would see at this moment. Everything that shows it asks `healthOf`. Pure. */
import { crashesInARow } from "./restart.js"

export const healths = ["healthy", "crashing", "starting", "down", "asleep", "paused"] as const

/**
 * `healthy`: requests are answered. `crashing`: they are, but an agent server or its workers crashed twice in a row, so runs
 * may fail. `starting`: requests wait until an agent server is ready. `down`: requests are refused with 503. `asleep`: the next
 * request starts it. `paused`: its owner paused it, requests are refused.
 */
export type Health = (typeof healths)[number]

/** What is known of the units that serve a deployment or a revision, as one JSON value (`health-queries.ts`). */
export interface HealthFacts {
  readonly is_paused: boolean
  readonly is_asleep: boolean
  /** It was to be woken, and there was no room for it. */
  readonly is_refused: boolean
  readonly units: readonly {
    readonly is_ready: boolean
    readonly is_down: boolean
    readonly is_answering: boolean
    readonly crashes: number
    readonly worker_crashes: number
    readonly up_ms: number
    /** It was not replaced yet since a restart was asked for. */
    readonly is_outdated: boolean
  }[]
}

// As many roll a new revision back (plan.ts).
const crashesThatShow = 2

/** @returns null when no revision serves */
export function healthOf({ units, is_paused, is_asleep, is_refused }: HealthFacts): Health | null {
  if (units.length === 0) return null
  if (is_paused) return "paused"
  if (is_asleep) return is_refused ? "down" : "asleep"
  if (units.some((unit) => unit.is_answering)) {
    return units.some((unit) => crashesInARow(unit) + unit.worker_crashes >= crashesThatShow) ? "crashing" : "healthy"
  }
  return units.some((unit) => !unit.is_ready && !unit.is_down) ? "starting" : "down"
}

export const runStates = ["running", "asleep", "paused"] as const

/** Whether the processes of a deployment run, sleep until the next request, or were stopped by its owner. */
export const runStateOf = ({ is_paused, is_asleep }: HealthFacts): (typeof runStates)[number] => {
  if (is_paused) return "paused"
  return is_asleep ? "asleep" : "running"
}

/** Whether a restart that was asked for is still to replace a unit. One that sleeps or is paused has nothing to replace. */
export const isRestarting = ({ units, is_paused, is_asleep }: HealthFacts): boolean =>
  !is_paused && !is_asleep && units.some((unit) => unit.is_outdated)
