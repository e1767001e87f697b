/**
 * Brings everything but units (planner/) in line with the tables: the edge and its table, leftovers, deletions. It keeps no
 * important state in memory: each pass reads the database and the machine, and does the next step for every difference. A
 * failure in one place does not stop the others. The edge is checked every second; the rest after a change, once more a few seconds
 * later, and then every half minute, in case a notification was lost; old data every hour. Schemas that are due are read in between
 * (`due-schemas.ts`).
 */
import { type Repeated, repeated } from "@superstep/toolkit/exec/repeated"
import { deploymentsToDelete } from "../deployments/carried-queries.js"
import type { PipelineContext } from "../planner/context.js"
import { allUnits } from "../planner/queries.js"
import { nextTableChangeMs } from "../routing/queries.js"
import { deleteNext } from "./deletion.js"
import { readDueSchemas } from "./due-schemas.js"
import { revisionsInBuild } from "./queries.js"
import { deleteUnneeded, removeUnknownArtifacts, removeUnknownCaches } from "./retention.js"

// After a change, and while something is not in line: a stage may have started just then what nobody wants any more.
const passMs = 5000
const quietMs = 30_000
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
  const { failures, clock } = context
  const attempt = <T>(what: string, work: () => Promise<T>) => failures.attempt(what, {}, work)
  let isChanged = false
  const pass = async () => {
    const hasChanged = isChanged
    isChanged = false
    const { isInLine, dueMs } = await reconcile(context)
    passes.wakeWithin(hasChanged || !isInLine ? passMs : dueMs)
  }
  const passes: Repeated = repeated(pass, quietMs, { clock })
  const wakePasses = () => {
    isChanged = true
    passes.wake()
  }
  const checkEdge = edgeCheck(context, wakePasses)
  const edge = repeated(() => attempt("the check of the edge", checkEdge), edgeMs, { clock })
  const retention = repeated(() => deleteUnneeded(context), retentionMs, { clock })
  const stopping = new AbortController()
  const schemas = repeated(
    () => attempt("the reading of schemas", () => readDueSchemas(context, stopping.signal)),
    schemasMs,
    { clock },
  )
  schemas.wake()
  retention.wake()
  return {
    wake: () => {
      wakePasses()
      edge.wake()
    },
    stop: async () => {
      stopping.abort()
      await Promise.all([passes, edge, retention, schemas].map((it) => it.stop()))
    },
  }
}

/**
 * Its process is looked at each time; its settings, its certificate, those that it has replaced and whether it answers every `passMs`.
 * @param onStart  called when another edge may have been started, which has an old table
 */
function edgeCheck({ edge, clock }: PipelineContext, onStart: () => void): () => Promise<void> {
  let ensuredAt = Number.NEGATIVE_INFINITY
  return async () => {
    const isAlive = await edge.isAlive()
    if (isAlive && clock.now() - ensuredAt < passMs) return
    // It remembers since when it got no answer, and `ensure` ends an edge that hangs.
    const answers = isAlive && (await edge.status().then(always(true), always(false)))
    await edge.ensure()
    ensuredAt = clock.now()
    if (!answers) onStart()
  }
}

const always =
  <Value>(value: Value) =>
  () =>
    value

interface Reconciled {
  /** Whether nothing was found that is not as it should be. */
  readonly isInLine: boolean
  /** When time alone changes what should be, in milliseconds. */
  readonly dueMs: number
}

const factsOfDeployment = ({ deployment_id }: { readonly deployment_id: string }) => ({ deployment_id })

/** Never throws. */
async function reconcile(context: PipelineContext): Promise<Reconciled> {
  const { db, failures } = context
  const attempt = <T>(what: string, work: () => Promise<T>) => failures.attempt(what, {}, work)
  let dueMs: number | undefined
  const done = [
    await attempt("the push of the table", async () => {
      // First: what changes while the table is pushed is in it, or still to come.
      dueMs = await nextTableChangeMs(db)
      await context.routing.publish()
      return true
    }),
    await attempt("the search for orphaned units", () => stopOrphanedUnits(context)),
    await attempt("the search for orphaned builds", () => stopOrphanedBuilds(context)),
    await attempt("the search for deletions", async () => {
      const deployments = await deploymentsToDelete(db)
      await failures.forEach("deletion", deployments, factsOfDeployment, (it) => deleteNext(context, it))
      return deployments.length === 0
    }),
  ]
  return { isInLine: !done.some((isDone) => isDone !== true), dueMs: dueMs ?? quietMs }
}

/**
 * Stops units that are not in the database: their deployment was deleted with force, or the database is another one.
 * @returns  whether there were none
 */
async function stopOrphanedUnits({ db, machine: { units }, limits, log, failures }: PipelineContext): Promise<boolean> {
  // Listed before the query: a unit that is added in between is then not in the list.
  const present = await units.list()
  const known = new Set((await allUnits(db)).map(({ unit_id }) => unit_id))
  const orphaned = present.filter((id) => !known.has(id))
  const factsOf = (unit_id: string) => ({ unit_id })
  await failures.forEach("the stop of a unit that belongs to nothing", orphaned, factsOf, async (unitId) => {
    log.warn({ unit_id: unitId }, "stopping a unit that belongs to nothing")
    await units.stop(unitId, { graceMs: limits.stopGraceMs })
    await units.remove(unitId)
  })
  return orphaned.length === 0
}

/** @returns  whether there were none */
async function stopOrphanedBuilds(context: PipelineContext): Promise<boolean> {
  const { builds } = context.machine
  const present = await builds.list()
  const wanted = await revisionsInBuild(context.db)
  const orphaned = present.filter((id) => !wanted.has(id))
  const factsOf = (revision_id: string) => ({ revision_id })
  await context.failures.forEach("the removal of a build", orphaned, factsOf, (id) => builds.remove(id))
  if (orphaned.length === 0) return true
  // Artifacts that those builds published, or caches that they created again for a deployment deleted at that moment.
  await removeUnknownArtifacts(context)
  await removeUnknownCaches(context)
  return false
}
