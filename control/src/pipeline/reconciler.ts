/**
 * Brings what runs to what should run, every few seconds and when it is woken. It keeps nothing in memory: each pass
 * reads the database and the machine, and does the next step for whatever differs. One broken thing keeps no other from
 * its turn.
 */
import { readdir } from "node:fs/promises"
import { join } from "node:path"
import { stopBuild } from "../builders/build-process.js"
import { removeTree } from "../builders/publish.js"
import type { PipelineContext } from "./context.js"
import { deleteNext } from "./deletion.js"
import { syncEdge } from "./edge-table.js"
import { workFolder } from "./folders.js"
import { shipUnitLog } from "./log-shipping.js"
import {
  allUnits,
  deploymentsToDelete,
  removeArtifact,
  revisionsInBuild,
  stopForsakenUnits,
  unneededArtifacts,
} from "./queries.js"
import { reconcileUnit } from "./reconcile-unit.js"

const passMs = 5000
// What people see of a live log comes this late; a look is one `stat` a unit.
const logsMs = 1000

export interface Reconciler {
  wake(): void
  stop(): Promise<void>
}

export function startReconciler(context: PipelineContext): Reconciler {
  const passes = repeated(() => reconcile(context), passMs)
  const logs = repeated(() => shipAllLogs(context), logsMs)
  return {
    wake: passes.wake,
    stop: async () => {
      await Promise.all([passes.stop(), logs.stop()])
    },
  }
}

/** One pass. Never throws. */
export async function reconcile(context: PipelineContext): Promise<void> {
  const { db } = context
  await attempt(context, "edge", () => context.edge.ensure())
  await attempt(context, "forsaken units", () => stopForsakenUnits(db))
  await attempt(context, "table", () => syncEdge(context))
  await attempt(context, "units", async () => {
    const units = await allUnits(db)
    await Promise.all(units.map((unit) => attempt(context, "unit", () => reconcileUnit(context, unit))))
  })
  await attempt(context, "strays", () => endStrays(context))
  await attempt(context, "builds", () => endForsakenBuilds(context))
  await attempt(context, "deletions", async () => {
    const deployments = await deploymentsToDelete(db)
    for (const it of deployments) await attempt(context, "deletion", () => deleteNext(context, it))
  })
  await attempt(context, "artefacts", () => removeUnneeded(context))
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

async function endForsakenBuilds({ db, folders }: PipelineContext): Promise<void> {
  const present = await readdir(folders.work)
  const wanted = await revisionsInBuild(db)
  for (const revisionId of present.filter((id) => !wanted.has(id))) {
    const work = workFolder(folders, revisionId)
    await stopBuild(work.build)
    await removeTree(work.folder)
  }
}

async function removeUnneeded({ db, folders, limits }: PipelineContext): Promise<void> {
  for (const { artifact_id } of await unneededArtifacts(db, limits.keptArtifacts)) {
    // The row first: an artefact without a row is never used again, a row without its artefact might be.
    await removeArtifact(db, artifact_id)
    await removeTree(join(folders.artifacts, artifact_id))
  }
}

async function shipAllLogs(context: PipelineContext): Promise<void> {
  await attempt(context, "logs", async () => {
    const units = await allUnits(context.db)
    for (const unit of units.filter(({ state }) => state === "serving" || state === "draining")) {
      await attempt(context, "log", () => shipUnitLog(context, unit))
    }
  })
}

/** Runs `work` again and again, never twice at once; a wake-up in the middle of a pass is followed by one more. */
function repeated(work: () => Promise<void>, everyMs: number): Reconciler {
  let running: Promise<void> | undefined
  let isWoken = false
  let isStopping = false
  let timer: NodeJS.Timeout | undefined

  const run = async () => {
    do {
      isWoken = false
      await work()
    } while (isWoken && !isStopping)
    running = undefined
    if (!isStopping) timer = setTimeout(wake, everyMs)
  }
  const wake = () => {
    isWoken = true
    if (isStopping) return
    clearTimeout(timer)
    running ??= run()
  }
  const stop = async () => {
    isStopping = true
    clearTimeout(timer)
    await running
  }
  return { wake, stop }
}
