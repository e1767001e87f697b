/**
 * Chooses the unit for a request. The requests of a thread meet the same unit, so a client that joins a run reaches the server
 * that executes it, and its events need not pass the database. Pure.
 */
import type { Unit } from "./table.js"

// A thread's unit may have this many times the mean of what is open, and a few more: beyond that, other requests of the thread would
// wait behind it.
const mostOfMean = 1.25
const spare = 4

export interface Choice {
  /** How much is open on a unit: requests, streams and WebSockets together. */
  readonly openOn: (unitId: string) => number
  /** Gives a number from 0 up to, not including, 1. */
  readonly random: () => number
  /** The thread that the request is about, if it is about one. */
  readonly threadId: string | undefined
}

/**
 * The thread's unit, unless it has much more to do than the others; else the one with the fewest open requests. Ties are broken at random,
 * so that at low load the first unit does not get everything.
 * @returns  undefined when there is no unit to choose
 */
export function pickUnit(units: readonly Unit[], { openOn, random, threadId }: Choice): Unit | undefined {
  const load = units.map(({ unit_id }) => openOn(unit_id))
  if (threadId !== undefined && units.length > 1) {
    const index = highest(units.map(({ unit_id }) => weightOf(unit_id, threadId)))
    const mean = load.reduce((sum, it) => sum + it, 0) / units.length
    if ((load[index] ?? 0) <= mean * mostOfMean + spare) return units[index]
  }
  const least = Math.min(...load)
  const idle = units.filter((_, index) => load[index] === least)
  return idle[Math.floor(random() * idle.length)]
}

const highest = (weights: readonly number[]): number => weights.indexOf(Math.max(...weights))

/**
 * The weight of a unit for a thread (rendezvous hashing): when a unit leaves, only its own threads move, and every edge chooses the same.
 * FNV-1a, with a final mix since ids differ in few characters.
 */
function weightOf(unitId: string, threadId: string): number {
  let hash = 0x811c9dc5
  for (const text of [unitId, threadId])
    for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}
