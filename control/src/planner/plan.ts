/**
 * Decides what should be done next about a deployment and its units. Pure: everything that it knows is in the facts, and the same facts give
 * the same actions. One step at a time: what follows an action is decided when its effect has been seen. README.md has the table of
 * cases.
 */
import { isDeepStrictEqual } from "node:util"
import type { DeploymentFacts, RevisionFacts, UnitFacts } from "./facts.js"
import { failsMoreOften, type RunCounts } from "./failure-rates.js"
import { isSwitching, isToRestart, type PlanLimits, planUnit, type UnitAction, wantedShares } from "./plan-unit.js"
import { scale } from "./scale.js"

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
      const does = planUnit(unit, revision, deployment, limits)
      return does ? [{ kind: "unit", does, unit }] : []
    }),
  )
  return whole ? [whole, ...units] : units
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

function byLoad(deployment: DeploymentFacts, { scaleDownMs }: PlanLimits): Action | undefined {
  const { revisions, is_paused, has_sleep, is_worked_on } = deployment
  const serving = revisions.find(({ role }) => role === "serving")
  if (!serving || is_paused || has_sleep || is_worked_on) return undefined
  const isRestarting = serving.units.some((unit) => isToRestart(unit, deployment))
  const scaling = scale(serving, { isRestarting, scaleDownMs })
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
