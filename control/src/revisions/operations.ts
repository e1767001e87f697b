/** Adds revisions and finds them. Changes of a deployment go through `deployments/operations.ts`. */
import type { Db } from "@superstep/toolkit/db/database"
import { Conflict, NotFound } from "@superstep/toolkit/errors/errors"
import { v7 as newId } from "uuid"
import { interruptRevision } from "./claims.js"
import {
  countRevisions,
  findRevisions,
  insertRevision,
  type NewRevision,
  type RevisionFilter,
  type RevisionRow,
  revisionById,
  type SeenRevision,
} from "./queries.js"
import { isFinal } from "./revision.js"
import { wakePipeline } from "./wake-up.js"

/**
 * Adds a revision with its complete frozen specification (V1) and wakes the pipeline when the transaction commits.
 * The caller holds the deployment's row and points its `latest_revision_id` here in the same transaction.
 */
export async function addRevision(tx: Db, spec: Omit<NewRevision, "revisionId">): Promise<RevisionRow> {
  const revision = await insertRevision(tx, { ...spec, revisionId: newId() })
  if (!revision) throw new Error("the new revision was not stored")
  await wakePipeline(tx, spec.deploymentId)
  return revision
}

/** @throws NotFound  the deployment of this workspace has no such revision */
export async function findRevision(
  db: Db,
  ids: { workspaceId: string; deploymentId: string; revisionId: string },
): Promise<SeenRevision> {
  const revision = await revisionById(db, ids)
  if (!revision) throw new NotFound(`Revision ID ${ids.revisionId} not found.`)
  return revision
}

/**
 * Interrupts a revision on request (control-plane §6.3, rule 5). The process that works on it stops a moment later. A
 * revision that was interrupted before is returned as it is.
 * @throws NotFound
 * @throws Conflict  it has ended, or requests reach it already
 */
export async function interrupt(
  tx: Db,
  ids: { workspaceId: string; deploymentId: string; revisionId: string },
): Promise<SeenRevision> {
  await findRevision(tx, ids)
  if (await interruptRevision(tx, ids.revisionId)) {
    await wakePipeline(tx, ids.deploymentId)
    return findRevision(tx, ids)
  }
  const revision = await findRevision(tx, ids)
  if (revision.status === "INTERRUPTED") return revision
  const words = isFinal(revision.status)
    ? `Revision ID ${ids.revisionId} has already ended as ${revision.status}`
    : `Revision ID ${ids.revisionId} already receives requests: roll back instead`
  throw new Conflict(words, "not_interruptible")
}

/** A page of a deployment's revisions, newest first. */
export async function listRevisions(
  db: Db,
  filter: RevisionFilter,
  page: { limit: number; offset: number },
): Promise<{ rows: SeenRevision[]; total: number }> {
  const [rows, total] = await Promise.all([findRevisions(db, filter, page), countRevisions(db, filter)])
  return { rows, total }
}
