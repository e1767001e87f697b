/** Changes how many threads a canary gets, promotes it, or aborts it. The planner carries it out. */
import type { Db } from "@superstep/toolkit/db/database"
import { Conflict } from "@superstep/toolkit/errors/errors"
import { findRevision } from "../revisions/operations.js"
import type { SeenRevision } from "../revisions/queries.js"
import { setWeight } from "../revisions/role-queries.js"
import { wakeDeployment } from "../revisions/sleep-queries.js"
import { wakePipeline } from "../revisions/wake-up.js"
import { holdForChange } from "./hold.js"

export interface RevisionIds {
  readonly workspaceId: string
  readonly deploymentId: string
  readonly revisionId: string
}

/**
 * Gives a canary, or a revision that is still to become one, this percentage of the threads.
 * @throws NotFound
 * @throws Conflict  it is neither, or it is being aborted
 */
export async function setTraffic(tx: Db, ids: RevisionIds, weight: number): Promise<SeenRevision> {
  const revision = await findHeld(tx, ids)
  if (!isToBecomeCanary(revision)) requireCanary(revision)
  return change(tx, ids, weight)
}

/**
 * Lets a canary take over; one that is still to become one takes over at its switch. One that serves already is returned as it is.
 * @throws NotFound
 * @throws Conflict  it is none of these, or it is being aborted
 */
export async function promote(tx: Db, ids: RevisionIds): Promise<SeenRevision> {
  const revision = await findHeld(tx, ids)
  if (revision.role === "serving") return revision
  if (isToBecomeCanary(revision)) return change(tx, ids, null)
  requireCanary(revision)
  await wakeDeployment(tx, ids.deploymentId)
  return change(tx, ids, 100)
}

/**
 * Takes all threads from a canary, also from one that is being promoted. One that has ended as a canary is returned as it is.
 * @throws NotFound
 * @throws Conflict  it is not a canary
 */
export async function abort(tx: Db, ids: RevisionIds): Promise<SeenRevision> {
  const revision = await findHeld(tx, ids)
  const hasEnded = revision.status === "DEPLOYED" && revision.error_code !== null && revision.role !== "serving"
  if (hasEnded || (revision.role === "canary" && revision.weight === 0)) return revision
  if (isToBecomeCanary(revision))
    throw new Conflict(`Revision ID ${ids.revisionId} has no threads yet: interrupt it instead`, "not_a_canary")
  requireCanary(revision)
  return change(tx, ids, 0)
}

async function findHeld(tx: Db, ids: RevisionIds): Promise<SeenRevision> {
  await holdForChange(tx, ids)
  return findRevision(tx, ids)
}

async function change(tx: Db, ids: RevisionIds, weight: number | null): Promise<SeenRevision> {
  await setWeight(tx, ids.revisionId, weight)
  await wakePipeline(tx, ids.deploymentId)
  return findRevision(tx, ids)
}

/** It is on its way, and has not reached the switch yet. */
const isToBecomeCanary = ({ stage, weight, role }: SeenRevision): boolean =>
  weight !== null && stage !== null && stage !== "switch" && stage !== "verify" && role !== "canary"

/** @throws Conflict */
function requireCanary({ revision_id: id, role, weight, stage, status }: SeenRevision): void {
  if (role === "canary" && weight !== 0) return
  if (role === "canary") throw new Conflict(`Revision ID ${id} is being aborted: redeploy it`, "being_aborted")
  const words =
    stage === null
      ? `Revision ID ${id} (${status}) is not a canary: a new revision is one when source_config.canary_weight is set`
      : `Revision ID ${id} is not a canary now, and is in the stage ${stage}: read it again when that has ended`
  throw new Conflict(words, "not_a_canary")
}
