/**
 * Decides what should be done next about a deployment's units. Pure: everything that it knows is in the facts, and the same facts give
 * the same actions. One step at a time: what follows an action is decided when its effect has been seen. README.md has the table of
 * cases.
 */
import { isDeepStrictEqual } from "node:util"
import type { Shares } from "../machines/unit-client.js"
import type { DeploymentFacts, RevisionFacts, UnitFacts } from "./facts.js"
import { failsMoreOften, type RunCounts } from "./failure-rates.js"
import { crashesThatEndADeploy } from "./restart.js"
import { scale } from "./scale.js"

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
  /** It hangs: stops its process, which counts as a crash. */
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

export type Action =
  | { readonly kind: "unit"; readonly does: UnitAction; readonly unit: UnitFacts }
  | { readonly kind: "roll back"; readonly failed: string; readonly code: RollBackCode; readonly reason: string }
  | { readonly kind: "end watch"; readonly standby: string }
  /** The canary takes over. */
  | { readonly kind: "promote"; readonly canary: string }
  /** The canary gets no more threads, and ends. */
  | { readonly kind: "abort"; readonly canary: RevisionFacts; readonly code: AbortCode; readonly reason: string }
  /** Its load needs another unit. */
  | { readonly kind: "add unit"; readonly revision: string; readonly reason: string }
  /** Its load needs one unit less. */
  | { readonly kind: "take unit away"; readonly unit: UnitFacts }
  | { readonly kind: "record load"; readonly revision: string }
  /** Nothing is pinned to it any more: its units end. */
  | { readonly kind: "retire"; readonly revision: string }
  /** Ends the pins of threads to it. */
  | { readonly kind: "end pins"; readonly revision: string }
  | { readonly kind: "wake" }
  /** It was woken, and answers. */
  | { readonly kind: "end sleep" }
  /** Every unit is asked first whether it is idle. */
  | { readonly kind: "fall asleep"; readonly units: readonly UnitFacts[] }
  /** The edge saw use of a unit later than the table says. */
  | { readonly kind: "record use"; readonly unit: UnitFacts; readonly agoMs: number }

export type RollBackCode = "crash_loop" | "health_timeout"
export type AbortCode = "crash_loop" | "health_timeout" | "capacity" | "canary_failed" | "canary_aborted"

/** @returns at most one action for each unit, and at most one of the others */
export function plan(deployment: DeploymentFacts, limits: PlanLimits): readonly Action[] {
  const whole = ofDeployment(deployment, limits)
  const units = deployment.revisions.flatMap((revision) =>
    revision.units.flatMap((unit): Action[] => {
      const does = ofUnit(unit, revision, deployment, limits)
      return does ? [{ kind: "unit", does, unit }] : []
    }),
  )
  return whole ? [whole, ...units] : units
}

function ofUnit(
  unit: UnitFacts,
  revision: RevisionFacts,
  deployment: DeploymentFacts,
  limits: PlanLimits,
): UnitAction | undefined {
  const { seen } = unit
  if (isDue(revision, deployment)) return "remove"
  if (!seen) return undefined
  if (revision.role === "retiring") return ofRetiring(unit)
  if (unit.leaving_ms !== null) return ofLeaving(unit, revision, limits)
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
  if (unit.is_outdated || cannotShare(unit, deployment)) {
    if (!unit.is_ready) return "stop"
    return isItsTurn(unit, revision) ? "hold" : undefined
  }
  if (seen?.answer !== "ready") return undefined
  if (!unit.is_ready) return "admit"
  if (revision.role === "canary" || isSwitching(deployment)) return undefined
  return hasTraffic(unit, deployment) ? undefined : "activate"
}

/** It was started by an older release, which gives a canary no threads: today's program is started in its place. */
const cannotShare = ({ role, seen }: UnitFacts, { revisions }: DeploymentFacts): boolean =>
  role === "serving" &&
  seen?.report !== undefined &&
  !seen.report.traffic &&
  revisions.some((it) => it.role === "canary")

/** Which revision is active is about to change. */
const isSwitching = ({ is_switching, revisions }: DeploymentFacts): boolean =>
  is_switching || revisions.some(({ role, weight }) => role === "canary" && weight === 100)

/** The agent servers share out the threads as they should. */
function hasTraffic({ seen, revision_id }: UnitFacts, { revisions }: DeploymentFacts): boolean {
  if (!seen?.report?.serving) return false
  const wanted = wantedShares(revision_id, revisions)
  // A unit of an older release does not report it, and gives all threads to the revision that serves.
  return isDeepStrictEqual(seen.report.traffic ?? wanted, wanted)
}

/** How the threads should be shared out. */
const wantedShares = (serving: string, revisions: readonly RevisionFacts[]): Shares => [
  { revision_id: serving, weight: null },
  ...revisions
    .filter(({ role, weight }) => role === "canary" && weight !== 0)
    .map(({ revision_id, weight }) => ({ revision_id, weight })),
]

/**
 * Gets no more requests as soon as another unit takes them, finishes those that it has, and ends. What it executes goes on in another
 * unit.
 */
function ofLeaving(
  { seen, is_ready, traffic, leaving_ms: leavingMs }: UnitFacts,
  { units }: RevisionFacts,
  { drainMs }: PlanLimits,
): UnitAction | undefined {
  if (seen?.process !== "running" || seen.answer === "hung") return "remove"
  if (is_ready) return units.some((it) => it.leaving_ms === null && it.is_ready) ? "hold" : undefined
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
  // Started by an older release: today's program executes what waits.
  if (!seen.report?.executes_pinned) return "stop"
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

/** Replicas restart one after the other, and none while another one is down. */
const isItsTurn = (unit: UnitFacts, { units }: RevisionFacts): boolean =>
  units
    .filter(({ unit_id, connections }) => unit_id !== unit.unit_id && connections > 0)
    .every(
      (other) =>
        other.is_ready && !other.is_down && other.is_answering && !(other.is_outdated && other.ordinal < unit.ordinal),
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
  if (seen?.process !== "running" || seen.answer === "hung") return "remove"
  return isIdle(unit) ? "remove if idle" : undefined
}

/** Nothing runs in it and nothing is open on it. */
function isIdle({ seen, traffic }: UnitFacts): boolean {
  if (!seen?.report || !traffic || traffic.open > 0) return false
  return seen.report.running_runs === 0 && seen.report.open_streams === 0
}

function ofDeployment(deployment: DeploymentFacts, limits: PlanLimits): Action | undefined {
  if (deployment.is_deleted) return undefined
  if (deployment.is_asleep && deployment.wake_in_ms !== null && deployment.wake_in_ms <= 0) return { kind: "wake" }
  if (deployment.has_sleep && !deployment.is_asleep && answers(deployment)) return { kind: "end sleep" }
  return (
    watch(deployment, limits) ??
    ofCanary(deployment, limits) ??
    ofPins(deployment) ??
    byLoad(deployment, limits) ??
    sleep(deployment, limits)
  )
}

const answers = ({ revisions }: DeploymentFacts): boolean =>
  revisions.some(
    ({ role, units }) => role === "serving" && units.some(({ is_ready, seen }) => is_ready && seen?.answer === "ready"),
  )

// One crash of an agent server or of a worker can be an accident. The second one within the watch is taken for a fault of the revision
// (decisions, control plane 9).
const crashesThatRollBack = 2

/**
 * The former revision stands by while the new one is watched: for `watchMs`, and longer if the new one is not up then. A new one that
 * is down after twice `watchMs` is rolled back. One that is only slow to answer is not.
 */
function watch({ revisions, is_paused, is_asleep }: DeploymentFacts, { watchMs }: PlanLimits): Action | undefined {
  const serving = revisions.find(({ role }) => role === "serving")
  const standby = revisions.find(({ role }) => role === "standby")
  if (!standby || (serving && !serving.is_settled)) return undefined
  const endWatch = { kind: "end watch", standby: standby.revision_id } as const
  if (!serving || watchMs === 0) return endWatch
  const forMs = serving.settled_ms ?? 0
  const crashes = crashesOf(serving)
  if (crashes.total >= crashesThatRollBack)
    return { kind: "roll back", failed: serving.revision_id, code: "crash_loop", reason: crashes.reason }
  const condition =
    is_paused || is_asleep
      ? "up"
      : worstOf(serving.units.filter(({ leaving_ms }) => leaving_ms === null).map(conditionOf))
  if (condition === "down" && forMs >= watchMs * 2) {
    const reason = `the agent server took over and does not answer after ${(watchMs * 2) / 1000} s`
    return { kind: "roll back", failed: serving.revision_id, code: "health_timeout", reason }
  }
  return condition === "up" && forMs >= watchMs ? endWatch : undefined
}

function byLoad(
  { revisions, is_paused, has_sleep, is_worked_on }: DeploymentFacts,
  limits: PlanLimits,
): Action | undefined {
  const serving = revisions.find(({ role }) => role === "serving")
  if (!serving || is_paused || has_sleep || is_worked_on) return undefined
  const scaling = scale(serving, limits.scaleDownMs)
  if (!scaling) return undefined
  const { revision_id: revision } = serving
  if (scaling.does === "add") return { kind: "add unit", revision, reason: scaling.reason }
  if (scaling.does === "take away") return { kind: "take unit away", unit: scaling.unit }
  return { kind: "record load", revision }
}

/**
 * A canary that is to take over does so as soon as it is up, and no switch goes on. One that crashes or does not come up, or whose runs fail
 * more often, is aborted.
 */
function ofCanary(deployment: DeploymentFacts, limits: PlanLimits): Action | undefined {
  const { revisions, is_paused, is_asleep, is_switching, rollback_min_runs: minRuns } = deployment
  const serving = revisions.find(({ role }) => role === "serving")
  const canary = revisions.find(({ role }) => role === "canary")
  if (!canary) return undefined
  const trouble = canary.weight === 0 ? aborted : troubleOf(canary, deployment, limits)
  if (serving && trouble) return { kind: "abort", canary, ...trouble }
  // Without a revision that serves, nobody else is there to take the requests.
  if (canary.weight === 100 || !serving) {
    if (is_asleep) return { kind: "wake" }
    const isUp = !is_paused && canary.units.every(({ seen }) => seen?.answer === "ready")
    // Until its stage `verify` has ended, the revision that serves must go on serving.
    const mayTakeOver = !is_switching && serving?.is_settled !== false
    return isUp && mayTakeOver ? { kind: "promote", canary: canary.revision_id } : undefined
  }
  if (minRuns === null) return undefined
  const [ofCanary, ofBase] = [outcomesOf(canary), outcomesOf(serving)]
  if (!failsMoreOften(ofCanary, ofBase, minRuns)) return undefined
  const reason = `${ofCanary.failed} of its ${ofCanary.ended} runs failed, and ${ofBase.failed} of ${ofBase.ended} of the revision that serves`
  return { kind: "abort", canary, code: "canary_failed", reason }
}

type Trouble = { readonly code: AbortCode; readonly reason: string }

const aborted: Trouble = { code: "canary_aborted", reason: "aborted on request" }

function troubleOf(
  canary: RevisionFacts,
  { is_paused, has_sleep }: DeploymentFacts,
  { watchMs }: PlanLimits,
): Trouble | undefined {
  const crashes = crashesOf(canary)
  if (crashes.total >= crashesThatRollBack) return { code: "crash_loop", reason: crashes.reason }
  if (is_paused || has_sleep) return undefined
  const isRefused = ({ seen, connections, may_start, is_down }: UnitFacts) =>
    seen?.process === "absent" && connections === 0 && !may_start && !is_down
  if (canary.units.some(isRefused)) return { code: "capacity", reason: "there is no room to start its agent server" }
  const isLate = ({ seen, up_ms }: UnitFacts) => seen?.answer === "not ready" && up_ms >= watchMs * 2
  if (watchMs > 0 && canary.units.some(isLate))
    return { code: "health_timeout", reason: `its agent server is not ready ${(watchMs * 2) / 1000} s after its start` }
  return undefined
}

const outcomesOf = ({ units }: RevisionFacts): RunCounts => ({
  ended: units.reduce((sum, { runs_ended }) => sum + runs_ended, 0),
  failed: units.reduce((sum, { runs_failed }) => sum + runs_failed, 0),
})

type Condition = "up" | "silent" | "down"

const worstOf = (conditions: readonly Condition[]): Condition =>
  (["down", "silent"] as const).find((it) => conditions.includes(it)) ?? "up"

function conditionOf({ seen, is_down }: UnitFacts): Condition {
  if (seen === undefined) return "silent"
  if (seen.process !== "running") return seen.process === "absent" && !is_down ? "up" : "down"
  if (seen.answer === "ready") return "up"
  return seen.answer === "not ready" ? "down" : "silent"
}

function crashesOf({ units }: RevisionFacts): { total: number; reason: string } {
  const own = units.reduce((sum, { crashes }) => sum + crashes, 0)
  const ofWorkers = units.reduce((sum, { worker_crashes }) => sum + worker_crashes, 0)
  const last = units.find(({ last_worker_crash }) => last_worker_crash !== null)?.last_worker_crash
  const sentences = [
    ...(own > 0 ? [`the agent server ended ${times(own)} after it was deployed`] : []),
    ...(ofWorkers > 0 ? [`its worker processes crashed ${times(ofWorkers)}, the last one with ${last}`] : []),
  ]
  return { total: own + ofWorkers, reason: sentences.join("; ") }
}

const times = (count: number): string => (count === 1 ? "once" : `${count} times`)

/** A revision keeps its units until nothing is pinned to it; its pins are ended when they are too old. */
function ofPins({ revisions, max_pin_ms }: DeploymentFacts): Action | undefined {
  const serving = revisions.find(({ role }) => role === "serving")
  const wanted = serving && wantedShares(serving.revision_id, revisions)
  for (const { revision_id: revision, role, pins, pinned_ms } of revisions) {
    if (role !== "pinned" || !pins) continue
    // The activation that brings this traffic may pin threads to a former revision: an answer from before it does not count.
    const isUnpinned = pins.threads === 0 && !pins.has_runs && isDeepStrictEqual(pins.traffic ?? wanted, wanted)
    if (isUnpinned) return { kind: "retire", revision }
    if (pins.threads > 0 && (pinned_ms ?? 0) >= max_pin_ms) return { kind: "end pins", revision }
  }
  return undefined
}

// Use of a busy deployment is stored every 5 s, and not in each pass.
const recordUseMs = 5000

/** A deployment sleeps when its units were not used for `idleMs`. It stays awake while a stage works on it or a unit is down. */
function sleep(deployment: DeploymentFacts, { idleMs }: PlanLimits): Action | undefined {
  if (!deployment.may_sleep || deployment.has_sleep || deployment.is_paused || deployment.is_worked_on) return undefined
  const isExecuting = ({ role }: RevisionFacts): boolean => role === "serving" || role === "canary"
  if (isSwitching(deployment)) return undefined
  if (deployment.revisions.some((revision) => !isExecuting(revision) && !isAtRest(revision))) return undefined
  // A replica without connections could not be started. It does not keep the deployment awake: others may need the room of its replicas.
  const executing = deployment.revisions.filter(isExecuting)
  const units = executing.flatMap((revision) => revision.units).filter(({ connections }) => connections > 0)
  if (units.length === 0 || units.some(({ is_down, is_ready }) => is_down || !is_ready)) return undefined
  const unrecorded = units.find((unit) => unit.idle_ms - idleMsOf(unit) >= recordUseMs)
  if (unrecorded) return { kind: "record use", unit: unrecorded, agoMs: idleMsOf(unrecorded) }
  return units.every((unit) => idleMsOf(unit) >= idleMs) ? { kind: "fall asleep", units } : undefined
}

/** Its units are stopped, and no run is pinned to it. */
const isAtRest = ({ role, pins, units }: RevisionFacts): boolean =>
  role === "pinned" &&
  pins?.has_runs === false &&
  units.every(({ seen }) => seen !== undefined && seen.process !== "running")

/** The edge knows of use since its own start, the table of earlier use. */
const idleMsOf = ({ idle_ms, traffic }: UnitFacts): number => Math.min(idle_ms, traffic?.idle_ms ?? 0)
