/** Decides what should be done next about one unit. Pure; README.md has the table of cases. */
import { isDeepStrictEqual } from "node:util"
import type { Shares } from "@superstep/machines/unit-client/unit-replies"
import { crashesThatEndADeploy } from "../health/restart.js"
import type { DeploymentFacts, RevisionFacts, UnitFacts } from "./facts.js"

export interface PlanLimits {
  /** How long a new revision is watched after its DEPLOYED. */
  readonly watchMs: number
  /** After how long without use a deployment sleeps. */
  readonly idleMs: number
  /** How long the units of a former revision may go on with the requests and streams that they have. */
  readonly drainMs: number
  /** For how long fewer units must have been enough before one is taken away. */
  readonly scaleDownMs: number
}

export type UnitAction =
  /** Starts its process. */
  | "start"
  /** Its process exited without being stopped: counts the crash, and sets the time of the next start. */
  | "record crash"
  /** Somebody else ended its process: sets the time of the next start, and counts nothing. */
  | "record disruption"
  /** It hangs: stops its process, which counts as a crash, unless it answers again. */
  | "stop hung"
  /** It serves and is not active: activates it. */
  | "activate"
  /** Sends it requests. */
  | "admit"
  /** Sends it no more requests. */
  | "hold"
  /** Stops its process after `hold`; it may be started again. */
  | "stop"
  /** Its deployment sleeps or is paused: `hold` and `stop`, or wakes a deployment that is in use after all. */
  | "suspend"
  /** Stops it for good, and deletes its row. */
  | "remove"
  /** The same, unless something has begun in it since it was seen to be idle. */
  | "remove if idle"
  /** The same, unless it answers again. */
  | "remove if hung"

/** @returns  undefined when nothing is to be done */
export function planUnit(
  unit: UnitFacts,
  revision: RevisionFacts,
  deployment: DeploymentFacts,
  limits: PlanLimits,
): UnitAction | undefined {
  const { seen } = unit
  if (isDue(revision, deployment)) return "remove"
  if (!seen) return undefined
  if (revision.role === "retiring") return ofRetiring(unit)
  if (unit.leaving_ms !== null) return ofLeaving(unit, revision, deployment, limits)
  const isWanted = revision.role === "starting" || !(deployment.is_paused || deployment.is_asleep)
  if (!isWanted) return seen.process === "running" ? "suspend" : undefined
  // A standby that has ended is not started again: its unfinished runs wait in the queue, and a serving unit claims them.
  if (revision.role === "standby") return forPins(unit, revision)
  if (revision.role === "pinned") return ofPinned(unit, revision, limits)
  if (seen.process === "running") return ofRunning(unit, revision, deployment)
  if (seen.process === "exited" && !unit.is_down) return ofEnded(unit, revision, deployment)
  if (revision.role === "starting") {
    // The deploy stage does the first start, to report why a unit cannot be started; and it fails a unit that crashed too often.
    const isFirst = seen.process === "absent" && revision.is_deploying
    if (isFirst || unit.crashes >= crashesThatEndADeploy) return undefined
  }
  return unit.may_start ? "start" : undefined
}

function ofEnded(unit: UnitFacts, revision: RevisionFacts, deployment: DeploymentFacts): UnitAction {
  if (!unit.seen?.isDisrupted) return "record crash"
  return mayWait(unit, revision, deployment) ? "hold" : "record disruption"
}

/** Its requests go to other replicas, or wait for its next start; a standby would answer them at once, and gets only what no unit can take. */
const mayWait = (
  { unit_id, is_ready }: UnitFacts,
  { role, units }: RevisionFacts,
  { revisions }: DeploymentFacts,
): boolean =>
  role === "serving" &&
  is_ready &&
  (units.some((it) => it.unit_id !== unit_id && it.is_ready) ||
    !revisions.some((it) => it.role === "standby" && it.units.some(({ seen }) => seen?.answer === "ready")))

function ofRunning(unit: UnitFacts, revision: RevisionFacts, deployment: DeploymentFacts): UnitAction | undefined {
  const { seen } = unit
  // The deploy stage limits how long the first start may take.
  if (revision.role === "starting") return undefined
  if (seen?.answer === "hung") return "stop hung"
  if (seen?.isDisrupted) return mayWait(unit, revision, deployment) ? "hold" : undefined
  if (isToRestart(unit, deployment)) {
    if (!unit.is_ready) return "stop"
    return isItsTurn(unit, revision, deployment) ? "hold" : undefined
  }
  if (seen?.answer !== "ready") return undefined
  if (!unit.is_ready) return "admit"
  if (revision.role === "canary" || isSwitching(deployment)) return undefined
  return hasTraffic(unit, deployment) ? undefined : "activate"
}

/** It is to be stopped and started again, when it is its turn. */
export const isToRestart = (unit: UnitFacts, deployment: DeploymentFacts): boolean =>
  unit.leaving_ms === null && (unit.is_outdated || cannotShare(unit, deployment))

/**
 * It was started by an older release, which gives a canary no threads: today's program is started in its place, once. An image that the older
 * release has built starts the same program again: such a unit goes on, and its canary gets no threads.
 */
const cannotShare = ({ role, seen, up_ms: upMs }: UnitFacts, { revisions }: DeploymentFacts): boolean =>
  role === "serving" &&
  seen?.report !== undefined &&
  !seen.report.traffic &&
  revisions.some((it) => it.role === "canary" && it.settled_ms !== null && upMs > it.settled_ms)

/** Which revision is active is about to change. */
export const isSwitching = ({ is_switching, revisions }: DeploymentFacts): boolean =>
  is_switching || revisions.some(({ role, weight }) => role === "canary" && weight === 100)

/** The agent servers share out the threads as they should. */
function hasTraffic({ seen, revision_id }: UnitFacts, { revisions }: DeploymentFacts): boolean {
  if (!seen?.report?.serving) return false
  const wanted = wantedShares(revision_id, revisions)
  // A unit of an older release does not report it, and gives all threads to the revision that serves.
  return isDeepStrictEqual(seen.report.traffic ?? wanted, wanted)
}

/** How the threads should be shared out. */
export const wantedShares = (serving: string, revisions: readonly RevisionFacts[]): Shares => [
  { revision_id: serving, weight: null },
  ...revisions
    .filter(({ role, weight }) => role === "canary" && weight !== 0)
    .map(({ revision_id, weight }) => ({ revision_id, weight })),
]

/**
 * Gets no more requests as soon as another unit takes them, finishes those that it has, and ends. What it executes goes on in another
 * unit. While others restart it still takes requests in their place.
 */
function ofLeaving(
  { seen, is_ready, is_answering, traffic, leaving_ms: leavingMs }: UnitFacts,
  { units }: RevisionFacts,
  deployment: DeploymentFacts,
  { drainMs }: PlanLimits,
): UnitAction | undefined {
  if (seen?.process !== "running") return "remove"
  if (seen.answer === "hung") return "remove if hung"
  const takesOver = (it: UnitFacts) =>
    it.leaving_ms === null && it.is_ready && !(is_answering && (it.seen?.isDisrupted || isToRestart(it, deployment)))
  if (is_ready) return units.some(takesOver) ? "hold" : undefined
  return traffic?.open === 0 || (leavingMs ?? 0) >= drainMs ? "remove" : undefined
}

// A thread that was answered is often asked again soon, and a start takes a second.
const mostLingerMs = 60_000

/** The units of a revision that keeps threads run for the runs of these, and for a minute after. They get no requests. */
function ofPinned(unit: UnitFacts, revision: RevisionFacts, { idleMs, drainMs }: PlanLimits): UnitAction | undefined {
  const { seen } = unit
  const { pins, pinned_ms: pinnedMs } = revision
  if (seen?.process !== "running") return forPins(unit, revision)
  if (seen.answer === "hung") return "stop hung"
  const isDrained = (pinnedMs ?? 0) >= drainMs && seen.report?.running_runs === 0
  if (!isIdle(unit) && !isDrained) return undefined
  // Started by an older release, before it kept threads: today's program executes what waits. An image of that release never does.
  if (!seen.report?.executes_pinned && unit.up_ms > (pinnedMs ?? 0)) return "stop"
  const isUnused = pins?.has_runs === false && pins.quiet_ms >= Math.min(idleMs, mostLingerMs)
  return isUnused ? "stop" : undefined
}

/** Starts a unit that has ended, or was stopped, for a run of a thread that is pinned to its revision. */
function forPins(unit: UnitFacts, { pins }: RevisionFacts): UnitAction | undefined {
  if (!pins?.has_runs || unit.seen?.process === "running") return undefined
  if (unit.seen?.process === "exited" && !unit.is_down)
    return unit.seen.isDisrupted ? "record disruption" : "record crash"
  return unit.may_start ? "start" : undefined
}

/**
 * Replicas restart one after the other, and none while another one is down, unless there is no room for that one, or it is leaving
 * anyway.
 */
const isItsTurn = (unit: UnitFacts, { units }: RevisionFacts, deployment: DeploymentFacts): boolean =>
  units
    // One that was just stopped for its restart has no connections either, and may start.
    .filter((other) => other.unit_id !== unit.unit_id && (other.connections > 0 || other.may_start))
    .filter(({ leaving_ms, is_ready, is_answering }) => leaving_ms === null || (is_ready && is_answering))
    .every(
      (other) =>
        other.is_ready &&
        !other.is_down &&
        other.is_answering &&
        !other.seen?.isDisrupted &&
        !(isToRestart(other, deployment) && other.ordinal < unit.ordinal),
    )

/** Its units end now, whatever they do. */
function isDue(revision: RevisionFacts, deployment: DeploymentFacts): boolean {
  if (deployment.is_deleted) return true
  // Its deploy was interrupted or superseded.
  if (revision.role === "starting") return revision.is_settled
  return revision.role === "retiring" && (deployment.is_paused || (revision.retire_in_ms ?? 0) <= 0)
}

/** It finishes what it has; a unit that hangs finishes nothing. */
function ofRetiring(unit: UnitFacts): UnitAction | undefined {
  const { seen } = unit
  if (seen?.process !== "running") return "remove"
  if (seen.answer === "hung") return "remove if hung"
  return isIdle(unit) ? "remove if idle" : undefined
}

/** Nothing runs in it and nothing is open on it. */
function isIdle({ seen, traffic }: UnitFacts): boolean {
  if (!seen?.report || !traffic || traffic.open > 0) return false
  return seen.report.running_runs === 0 && seen.report.open_streams === 0
}
