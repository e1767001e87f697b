/**
 * Watches units. One that runs has a connection over which it reports its changes (machines/src/unit-client/unit-watch.ts); its process is looked at when
 * that connection ends. What was seen is kept in memory only: after a restart every unit is looked at again.
 *
 * O1 What was seen before `lookAgain` was called is not shown after it. O2 A unit that is about to change (it starts, or requests wait for
 * it) is looked at many times a second until it answers, and one that should run and does not once a second. O3 One that is stopped and
 * should be is not looked at, since only an action starts it: it costs nothing. O4 While the machine does not say whether a process runs,
 * the unit is asked all the same: what was seen before is never shown for what is now.
 */
import { isDeepStrictEqual } from "node:util"
import type { UnitStatus, Units } from "@superstep/machines/port/port"
import type { UnitAddress } from "@superstep/machines/unit-client/unit-request"
import { type UnitState, watchUnit } from "@superstep/machines/unit-client/unit-watch"
import type { Log } from "@superstep/toolkit/log/log"
import type { Clock } from "@superstep/toolkit/time/clock"
import type { Observation } from "./facts.js"

const changingMs = 50
const steadyMs = 1000

export interface Observer {
  /** Watches these units and no other. */
  follow(units: readonly ObservedUnit[]): void
  seen(unitId: string): Observation | undefined
  /** Drops what was seen of it, and looks at once. */
  lookAgain(unitId: string): void
  stop(): Promise<void>
}

export interface ObservedUnit {
  readonly unitId: string
  readonly deploymentId: string
  /** @throws CannotOpen  its token was sealed with another master key */
  readonly address: () => UnitAddress
  /** Its process should run. */
  readonly isWanted: boolean
  /** Somebody waits until it is ready. */
  readonly isAwaited: boolean
}

interface Watch {
  unit: ObservedUnit
  seen: Observation | undefined
  /** Ends the look under way: it shows nothing any more. */
  aborter: AbortController
  isLooking: boolean
  /** Of the next look. */
  cancelTimer: () => void
}

/** @param onChange  called when a unit is not what it was before; `isUrgent`: not only its counts have changed */
export function startObserver({
  units,
  hangMs,
  clock,
  log,
  onChange,
}: {
  readonly units: Pick<Units, "status">
  /** How long a unit that runs may answer nothing, in milliseconds. */
  readonly hangMs: number
  readonly clock: Clock
  readonly log: Log
  readonly onChange: (deploymentId: string, change: { readonly isUrgent: boolean }) => void
}): Observer {
  const watches = new Map<string, Watch>()
  const looks = new Set<Promise<void>>()

  /** Returns when the unit has stopped answering. */
  const look = async (watch: Watch, signal: AbortSignal): Promise<void> => {
    const { unitId, deploymentId, address } = watch.unit
    const show = (seen: Observation) => {
      if (signal.aborted) return
      const before = watch.seen
      watch.seen = seen
      if (!isDeepStrictEqual(before, seen))
        onChange(deploymentId, { isUrgent: !isDeepStrictEqual(urgent(before), urgent(seen)) })
    }
    const warn = (err: unknown): undefined => {
      if (!signal.aborted) log.warn({ err, unit_id: unitId }, "a unit could not be looked at; it is tried again")
      return undefined
    }
    try {
      const known = await units.status(unitId).catch(warn)
      const status: UnitStatus = known ?? { state: "running" }
      const process = {
        process: status.state,
        ...(status.state !== "absent" && status.isDisrupted && { isDisrupted: status.isDisrupted }),
      }
      if (status.state !== "running") return show({ ...process, answer: undefined, report: undefined })
      const onState = (answered: UnitState) => show({ ...process, ...(known || answered.report ? answered : silence) })
      await watchUnit(address(), { hangMs, signal, onState })
    } catch (err) {
      warn(err)
    }
  }

  /** @param tookMs  how long the last look took: one that has followed a unit for long is repeated at once */
  const pauseOf = ({ unit, seen }: Watch, tookMs: number): number | undefined => {
    if (!unit.isWanted && seen !== undefined && seen.process !== "running") return undefined
    return unit.isAwaited ? changingMs : Math.max(changingMs, steadyMs - tookMs)
  }

  const begin = (watch: Watch): void => {
    watch.cancelTimer()
    watch.aborter.abort()
    const aborter = new AbortController()
    watch.aborter = aborter
    watch.isLooking = true
    const startedAt = clock.now()
    const looking = look(watch, aborter.signal).finally(() => {
      looks.delete(looking)
      if (aborter.signal.aborted) return
      watch.isLooking = false
      const pauseMs = pauseOf(watch, clock.now() - startedAt)
      if (pauseMs !== undefined) watch.cancelTimer = clock.after(pauseMs, () => begin(watch))
    })
    looks.add(looking)
  }

  const end = (unitId: string, watch: Watch) => {
    watches.delete(unitId)
    watch.cancelTimer()
    watch.aborter.abort()
  }

  return {
    follow: (observed) => {
      const followed = new Set(observed.map(({ unitId }) => unitId))
      for (const [unitId, watch] of watches) if (!followed.has(unitId)) end(unitId, watch)
      for (const unit of observed) {
        const watch = watches.get(unit.unitId)
        if (!watch) {
          const aborter = new AbortController()
          const added: Watch = { unit, seen: undefined, aborter, isLooking: false, cancelTimer: () => {} }
          watches.set(unit.unitId, added)
          begin(added)
          continue
        }
        const isHurried = (unit.isWanted && !watch.unit.isWanted) || (unit.isAwaited && !watch.unit.isAwaited)
        watch.unit = unit
        if (isHurried && !watch.isLooking) begin(watch)
      }
    },
    seen: (unitId) => watches.get(unitId)?.seen,
    lookAgain: (unitId) => {
      const watch = watches.get(unitId)
      if (!watch) return
      watch.seen = undefined
      begin(watch)
    },
    stop: async () => {
      for (const [unitId, watch] of watches) end(unitId, watch)
      await Promise.all(looks)
    },
  }
}

/** Of one that does not answer while the machine does not say whether its process runs: it may be in good order, and out of reach. */
const silence: UnitState = { answer: "silent", report: undefined }

/** What the plan reacts to at once. The rest, such as how many runs a busy unit executes, changes all the time. */
function urgent(seen: Observation | undefined) {
  if (!seen?.report) return seen
  const { load: _load, runs: _runs, running_runs, open_streams, ...report } = seen.report
  return { ...seen, report: { ...report, isRunning: running_runs > 0, isStreaming: open_streams > 0 } }
}
