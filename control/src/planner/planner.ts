/**
 * Brings units to what the tables say is wanted. A pass reads deployments, plans each with what the observers saw, and starts the
 * actions; a later pass sees their effects. `schedule.ts` decides which deployments a pass reads.
 *
 * L1 At any time at most one action goes on for a unit, and one for a deployment as a whole; none waits for that of another one. L2 An
 * action is planned from what was read and seen after the action before it had ended. L3 The same action is not repeated within
 * a second: one that failed, or had no effect, would be planned again at once. L9 What fails for one deployment ends nothing for another one.
 */

import type { EdgeState } from "@superstep/edge/port"
import type { UnitReport } from "@superstep/machines/unit-client/unit-replies"
import { must } from "@superstep/toolkit/errors/must"
import { type Repeated, repeated } from "@superstep/toolkit/exec/repeated"
import type { PipelineContext } from "./context.js"
import { recordOutcomes } from "./crash-queries.js"
import { factsOf } from "./deployment-facts.js"
import { isDueSoon, safetyMs } from "./due.js"
import { executeOnUnit } from "./execute.js"
import { executeOnDeployment } from "./execute-deployment.js"
import { memoryLookMs, memoryWatch } from "./memory-watch.js"
import { type ObservedUnit, type Observer, startObserver } from "./observer.js"
import { type PinnedRevision, type PinObserver, startPinObserver } from "./pin-observer.js"
import { type Action, plan } from "./plan.js"
import { type PlannedRow, plannedDeployments } from "./queries.js"
import { Schedule } from "./schedule.js"
import { unitAddress } from "./unit.js"
import { followUnitLogs } from "./unit-logs.js"
import { storeReport } from "./unit-report.js"

// Between passes that are due, and between two same actions.
const passMs = 1000

/** The last action for a unit, or for a deployment as a whole. */
interface Ended {
  readonly name: string
  /** The pass in which it ended. */
  readonly pass: number
  /** By the clock. */
  readonly at: number
}

export interface Planner {
  /** @param deploymentId  what has changed; any other text, or none: everything may have */
  wake(deploymentId?: string): void
  /** What a unit reported last; undefined while it does not answer. */
  reportOf(unitId: string): UnitReport | undefined
  stop(): Promise<void>
}

export function startPlanner(context: PipelineContext): Planner {
  const { failures, clock } = context
  const logs = followUnitLogs(context)
  const inProgress = new Map<string, Promise<void>>()
  const ended = new Map<string, Ended>()
  let passes = 0

  const schedule = new Schedule()
  /** As last read, by deployment. */
  let known = new Map<string, readonly PlannedRow[]>()

  const changed = (deploymentId: string, { isUrgent = true } = {}) => {
    schedule.changed(deploymentId)
    if (isUrgent) passer.wake()
    else passer.wakeWithin(passMs)
  }

  const begin = (deploymentId: string, key: string, name: string, work: () => Promise<void>) => {
    must(!inProgress.has(key), "L1", "one action goes on for a unit, or a deployment, at a time", { key, action: name })
    const working = (async () => {
      try {
        await work()
      } catch (err) {
        const facts = { deployment_id: deploymentId, ...(key !== deploymentId && { unit_id: key }) }
        context.log.warn({ err, action: name, ...facts }, "an action of the planner failed; it is tried again")
      } finally {
        inProgress.delete(key)
        ended.set(key, { name, pass: passes, at: clock.now() })
        changed(deploymentId)
      }
    })()
    inProgress.set(key, working)
  }

  const act = (deploymentId: string, action: Action) => {
    if (action.kind !== "unit") {
      begin(deploymentId, deploymentId, action.kind, () => executeOnDeployment(context, deploymentId, action))
      return
    }
    const { unit, does } = action
    begin(deploymentId, unit.unit_id, does, () =>
      executeOnUnit[does](context, unit).finally(() => observer.lookAgain(unit.unit_id)),
    )
  }

  const isFree = (key: string, name: string, thisPass: number): boolean => {
    const last = ended.get(key)
    if (inProgress.has(key) || last?.pass === thisPass) return false
    return last?.name !== name || clock.now() - last.at >= passMs
  }

  /** @returns  what was read, by deployment */
  const read = async (): Promise<ReadonlyMap<string, readonly PlannedRow[]>> => {
    const ids = schedule.take(clock.now())
    if (ids?.length === 0) return new Map()
    const deployments = await plannedDeployments(context.db, ids)
    if (!ids) known = new Map(deployments)
    for (const id of ids ?? []) {
      const rows = deployments.get(id)
      if (rows) known.set(id, rows)
      else if (known.delete(id)) schedule.gone(id)
    }
    return deployments
  }

  const follow = () => {
    const rows = [...known.values()].flat()
    observer.follow(rows.map((row) => observedUnit(context, row)))
    pins.follow([...known.values()].flatMap((rows) => pinnedRevisions(context, observer, rows)))
    logs.follow(rows.filter(({ unit_id }) => observer.seen(unit_id)?.process !== "absent"))
  }

  const pass = async () => {
    const thisPass = ++passes
    const deployments = await read()
    follow()
    for (const [key, { at }] of ended) if (clock.now() - at > 2 * passMs) ended.delete(key)
    const edge = await trafficOf(context, [...deployments.values()])
    for (const [deploymentId, rows] of deployments) {
      const isPlanned = await failures.attempt("planning", { deployment_id: deploymentId }, async () => {
        const hasChanged = await storeReports(deploymentId, rows)
        const facts = factsOf(rows, { observer, pins, edge })
        const units = new Set(rows.map(({ unit_id }) => unit_id))
        for (const action of plan(facts, context.limits)) {
          const [key, name] = action.kind === "unit" ? [action.unit.unit_id, action.does] : [deploymentId, action.kind]
          const isOwn = key === deploymentId || units.has(key)
          must(isOwn, "L2", "an action is planned from what was read", {
            deployment_id: deploymentId,
            key,
            action: name,
          })
          if (isFree(key, name, thisPass)) act(deploymentId, action)
        }
        schedule.planned(deploymentId, { isDueSoon: isDueSoon(facts, context.limits) })
        // The rows were read before: what has been stored since is for the next pass.
        if (hasChanged) changed(deploymentId)
        return true
      })
      if (!isPlanned) schedule.changed(deploymentId)
    }
    return true
  }

  /** What one unit reports may fail to be stored: its deployment is planned by what was seen. @returns  whether anything was stored */
  const storeReports = async (deploymentId: string, rows: readonly PlannedRow[]): Promise<boolean> => {
    const hasCanary = rows.some(({ role }) => role === "canary")
    let isStored = false
    for (const row of rows) {
      const facts = { deployment_id: deploymentId, unit_id: row.unit_id }
      const store = () => storeSeen(context, { observer, row, hasCanary })
      const wasStored = await failures.attempt("storing a report", facts, store)
      if (wasStored) isStored = true
      if (wasStored === undefined) schedule.changed(deploymentId)
    }
    return isStored
  }

  const attempt = async () => {
    if (!(await failures.attempt("planning", {}, pass))) {
      schedule.allChanged()
      passer.wakeWithin(passMs)
    }
    if (schedule.isSoon) passer.wakeWithin(passMs)
  }
  const passer: Repeated = repeated(attempt, safetyMs, { clock })
  const observer: Observer = startObserver({
    units: context.machine.units,
    hangMs: context.limits.hangMs,
    clock,
    log: context.log,
    onChange: changed,
  })
  const pins: PinObserver = startPinObserver({ db: context.db, clock, log: context.log, onChange: changed })
  const isRunning = ({ unit_id }: PlannedRow) => observer.seen(unit_id)?.process === "running"
  const lookAtMemory = memoryWatch(context)
  const memory = repeated(() => lookAtMemory([...known.values()].flat().filter(isRunning)), memoryLookMs, { clock })
  memory.wake()
  return {
    wake: (deploymentId) => {
      if (deploymentId !== undefined && uuid.test(deploymentId)) return changed(deploymentId)
      schedule.allChanged()
      passer.wake()
    },
    reportOf: (unitId) => observer.seen(unitId)?.report,
    stop: async () => {
      await Promise.all([passer.stop(), memory.stop()])
      await logs.stop()
      await Promise.all(inProgress.values())
      await observer.stop()
      await pins.stop()
    },
  }
}

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

// Longer than a start takes.
const awaitedMs = 10_000

function observedUnit(context: PipelineContext, row: PlannedRow): ObservedUnit {
  const isUp = !(row.is_paused || row.is_asleep)
  const isWanted = row.role === "starting" || row.role === "retiring" || (row.role !== "pinned" && isUp)
  return {
    unitId: row.unit_id,
    deploymentId: row.deployment_id,
    address: () => unitAddress(context, row),
    isWanted,
    // One that is not ready for long has a trouble that more looks do not end.
    isAwaited: row.role === "starting" || (row.role === "serving" && isUp && !row.is_ready && row.up_ms < awaitedMs),
  }
}

/** Asks the edge when the plan depends on it: for units that drain or leave, and for those that may sleep. */
async function trafficOf(
  { edge, log }: PipelineContext,
  deployments: readonly (readonly PlannedRow[])[],
): Promise<EdgeState["units"] | undefined> {
  const isAsked = deployments.some((rows) =>
    rows.some(
      ({ role, may_sleep, has_sleep, leaving_ms }) =>
        role === "retiring" || role === "pinned" || leaving_ms !== null || (may_sleep && !has_sleep),
    ),
  )
  if (!isAsked) return undefined
  try {
    const { units, silent = [] } = await edge.status()
    return silent.length === 0 ? units : undefined
  } catch (err) {
    log.debug({ err }, "the edge does not say what is open")
    return undefined
  }
}

/** Revisions whose pins the plan depends on. A serving unit is asked, since their own may be stopped. */
function pinnedRevisions(
  context: PipelineContext,
  observer: Pick<Observer, "seen">,
  rows: readonly PlannedRow[],
): PinnedRevision[] {
  const serving = rows.find(({ role, unit_id }) => role === "serving" && observer.seen(unit_id)?.answer === "ready")
  const revisions = new Set(
    rows.filter(({ role }) => role === "standby" || role === "pinned").map((row) => row.revision_id),
  )
  const address = serving && (() => unitAddress(context, serving))
  return [...revisions].map((revisionId) => ({ revisionId, deploymentId: rows[0]?.deployment_id ?? "", address }))
}

/** Stores what a unit reports: `health.ts` and the plan read it. */
async function storeSeen(
  context: PipelineContext,
  { observer, row, hasCanary }: { observer: Observer; row: PlannedRow; hasCanary: boolean },
): Promise<boolean> {
  const seen = observer.seen(row.unit_id)
  if (seen?.process !== "running" || row.role === "retiring") return false
  const isStored = await storeReport(context, row, seen.report)
  if (!seen.report || !hasCanary) return isStored
  return (await recordOutcomes(context.db, row.unit_id, seen.report.runs)) > 0 || isStored
}
