/**
 * Brings what runs to what should run. It keeps nothing in memory that matters: each pass reads the database and the
 * machine, and does the next step for whatever differs. One broken thing keeps no other from its turn. Units are looked
 * at every second, since a dead one answers nobody; everything else every few seconds and when something has changed;
 * what is old, every hour.
 */
import { readdir } from "node:fs/promises"
import { stopBuild } from "../builders/build-process.js"
import { removeTree } from "../files/remove-tree.js"
import type { PipelineContext, PipelineLimits } from "./context.js"
import { deleteNext } from "./deletion.js"
import { syncEdge } from "./edge-table.js"
import { lookForSleepers } from "./fall-asleep.js"
import { workFolder } from "./folders.js"
import { memoryLookMs, memoryWatch } from "./memory-watch.js"
import {
  allUnits,
  deploymentsToDelete,
  revisionsInBuild,
  stopForgottenUnits,
  stopForsakenUnits,
  type WatchedUnit,
} from "./queries.js"
import { reconcileUnit } from "./reconcile-unit.js"
import { repeated } from "./repeated.js"
import { removeUnknownArtifacts, removeUnknownCaches, removeWhatIsOld } from "./retention.js"
import { followUnitLogs } from "./unit-logs.js"

const passMs = 5000
// A look is one query and a `stat` a unit, or a `stat` for the edge: nobody gets an answer while that is dead.
const unitsMs = 1000
const retentionMs = 3_600_000

// Often enough for a cron that wakes its deployment (`wakeLeadMs`), seldom enough to cost nothing.
const longestSleepLookMs = 5000
const sleepMsOf = ({ idleMs }: PipelineLimits): number => Math.min(longestSleepLookMs, Math.max(100, idleMs / 4))

export interface Reconciler {
  wake(): void
  stop(): Promise<void>
}

export function startReconciler(context: PipelineContext): Reconciler {
  const units = unitWatch(context)
  const passes = repeated(() => reconcile(context), passMs)
  const looks = repeated(units.look, unitsMs)
  const edge = repeated(() => attempt(context, "edge", () => context.edge.ensure()), unitsMs)
  const sleepers = repeated(() => attempt(context, "sleep", () => lookForSleepers(context)), sleepMsOf(context.limits))
  const lookAtMemory = memoryWatch(context)
  const memory = repeated(() => attempt(context, "memory", lookAtMemory), memoryLookMs)
  const retention = repeated(() => attempt(context, "retention", () => removeWhatIsOld(context)), retentionMs)
  retention.wake()
  sleepers.wake()
  memory.wake()
  return {
    wake: () => {
      passes.wake()
      looks.wake()
      edge.wake()
    },
    stop: async () => {
      await Promise.all([passes, looks, edge, retention, sleepers, memory].map((it) => it.stop()))
      await units.stop()
    },
  }
}

/** Everything but units. Never throws. */
async function reconcile(context: PipelineContext): Promise<void> {
  const { db } = context
  await attempt(context, "forsaken units", () => stopForsakenUnits(db))
  await attempt(context, "forgotten units", () => stopForgottenUnits(db, context.limits.drainMs))
  await attempt(context, "table", () => syncEdge(context))
  await attempt(context, "strays", () => endStrays(context))
  await attempt(context, "builds", () => endForsakenBuilds(context))
  await attempt(context, "deletions", async () => {
    const deployments = await deploymentsToDelete(db)
    for (const it of deployments) await attempt(context, "deletion", () => deleteNext(context, it))
  })
}

/** Looks after every unit, at one thing a unit at a time: one that takes long over its end holds up no other. */
function unitWatch(context: PipelineContext) {
  const busy = new Map<string, Promise<void>>()
  const logs = followUnitLogs(context)
  const lookAfter = (unit: WatchedUnit) => attempt(context, "unit", () => reconcileUnit(context, unit))
  const look = () =>
    attempt(context, "units", async () => {
      const units = await allUnits(context.db)
      logs.follow(units)
      for (const unit of units) {
        if (busy.has(unit.unit_id)) continue
        busy.set(
          unit.unit_id,
          lookAfter(unit).finally(() => busy.delete(unit.unit_id)),
        )
      }
    })
  const stop = async () => {
    await logs.stop()
    await Promise.all(busy.values())
  }
  return { look, stop }
}

async function attempt(context: PipelineContext, what: string, work: () => Promise<unknown>): Promise<void> {
  try {
    await work()
  } catch (err) {
    context.log.warn({ err, what }, "reconciling failed; it is tried again")
  }
}

/** Units that the database knows nothing of: their deployment was deleted with force, or the database is another one. */
async function endStrays({ db, runtime, limits, log }: PipelineContext): Promise<void> {
  // Listed first: a unit that is added in between is then not in the list.
  const present = await runtime.list()
  const known = new Set((await allUnits(db)).map(({ unit_id }) => unit_id))
  for (const unitId of present.filter((id) => !known.has(id))) {
    log.warn({ unit_id: unitId }, "stopping a unit that belongs to nothing")
    await runtime.stop(unitId, { graceMs: limits.stopGraceMs })
    await runtime.remove(unitId)
  }
}

async function endForsakenBuilds({ db, folders, log }: PipelineContext): Promise<void> {
  const present = await readdir(folders.work)
  const wanted = await revisionsInBuild(db)
  const forsaken = present.filter((id) => !wanted.has(id))
  for (const revisionId of forsaken) {
    const work = workFolder(folders, revisionId)
    await stopBuild(work.build)
    await removeTree(work.folder)
  }
  if (forsaken.length === 0) return
  // What they had published, or made anew for a deployment that was removed at that moment.
  await removeUnknownArtifacts({ db, folders, log })
  await removeUnknownCaches({ db, folders })
}
