/**
 * Brings everything but units (planner/) in line with the tables: the edge and its table, leftovers, deletions. It keeps no
 * important state in memory: each pass reads the database and the machine, and does the next step for every difference. A
 * failure in one place does not stop the others. The edge is checked every second; the rest every few seconds and after a
 * change; old data every hour. Schemas that are due are read in between (`due-schemas.ts`).
 */
import { repeated } from "@superstep/toolkit/exec/repeated"
import type { PipelineContext } from "../context.js"
import { deploymentsToDelete } from "../deployments/carried-queries.js"
import { syncEdge } from "../planner/edge-table.js"
import { allUnits } from "../planner/queries.js"
import { deleteNext } from "./deletion.js"
import { readDueSchemas } from "./due-schemas.js"
import { revisionsInBuild } from "./queries.js"
import { removeUnknownArtifacts, removeUnknownCaches, removeWhatIsOld } from "./retention.js"

const passMs = 5000
// Callers get no answer while the edge is dead.
const edgeMs = 1000
const retentionMs = 3_600_000
// Nobody waits for them.
const schemasMs = 10_000

export interface Reconciler {
  wake(): void
  stop(): Promise<void>
}

export function startReconciler(context: PipelineContext): Reconciler {
  const passes = repeated(() => reconcile(context), passMs)
  const checkEdge = edgeCheck(context)
  const edge = repeated(() => attempt(context, "edge", checkEdge), edgeMs)
  const retention = repeated(() => attempt(context, "retention", () => removeWhatIsOld(context)), retentionMs)
  const stopping = new AbortController()
  const schemas = repeated(() => attempt(context, "schemas", () => readDueSchemas(context, stopping.signal)), schemasMs)
  schemas.wake()
  retention.wake()
  return {
    wake: () => {
      passes.wake()
      edge.wake()
    },
    stop: async () => {
      stopping.abort()
      await Promise.all([passes, edge, retention, schemas].map((it) => it.stop()))
    },
  }
}

/** Its process is looked at each time; its settings, its certificate and those that it has replaced every `passMs`. */
function edgeCheck({ edge }: PipelineContext): () => Promise<void> {
  let ensuredAt = Number.NEGATIVE_INFINITY
  return async () => {
    if (performance.now() - ensuredAt < passMs && (await edge.isAlive())) return
    await edge.ensure()
    ensuredAt = performance.now()
  }
}

/** Never throws. */
async function reconcile(context: PipelineContext): Promise<void> {
  const { db } = context
  await attempt(context, "table", () => syncEdge(context))
  await attempt(context, "orphaned units", () => stopOrphanedUnits(context))
  await attempt(context, "builds", () => stopOrphanedBuilds(context))
  await attempt(context, "deletions", async () => {
    const deployments = await deploymentsToDelete(db)
    for (const it of deployments) await attempt(context, "deletion", () => deleteNext(context, it))
  })
}

async function attempt(context: PipelineContext, what: string, work: () => Promise<unknown>): Promise<void> {
  try {
    await work()
  } catch (err) {
    context.log.warn({ err, what }, "reconciling failed; it is tried again")
  }
}

/** Stops units that are not in the database: their deployment was deleted with force, or the database is another one. */
async function stopOrphanedUnits({ db, machine: { units }, limits, log }: PipelineContext): Promise<void> {
  // Listed before the query: a unit that is added in between is then not in the list.
  const present = await units.list()
  const known = new Set((await allUnits(db)).map(({ unit_id }) => unit_id))
  for (const unitId of present.filter((id) => !known.has(id))) {
    log.warn({ unit_id: unitId }, "stopping a unit that belongs to nothing")
    await units.stop(unitId, { graceMs: limits.stopGraceMs })
    await units.remove(unitId)
  }
}

async function stopOrphanedBuilds(context: PipelineContext): Promise<void> {
  const { builds } = context.machine
  const present = await builds.list()
  const wanted = await revisionsInBuild(context.db)
  const orphaned = present.filter((id) => !wanted.has(id))
  for (const revisionId of orphaned) await builds.remove(revisionId)
  if (orphaned.length === 0) return
  // Artefacts that those builds published, or caches that they created again for a deployment deleted at that moment.
  await removeUnknownArtifacts(context)
  await removeUnknownCaches(context)
}
