/** Adds revisions and finds them. Whoever changes a deployment goes through `deployments/operations.ts`. */
import type { Db } from "@superstep/toolkit/db/database"
import { NotFound } from "@superstep/toolkit/errors/errors"
import { v7 as newId } from "uuid"
import {
  countRevisions,
  findRevisions,
  insertRevision,
  type NewRevision,
  type RevisionFilter,
  type RevisionRow,
  revisionById,
} from "./queries.js"
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
): Promise<RevisionRow> {
  const revision = await revisionById(db, ids)
  if (!revision) throw new NotFound(`Revision ID ${ids.revisionId} not found.`)
  return revision
}

/** A page of a deployment's revisions, newest first. */
export async function listRevisions(
  db: Db,
  filter: RevisionFilter,
  page: { limit: number; offset: number },
): Promise<{ rows: RevisionRow[]; total: number }> {
  const [rows, total] = await Promise.all([findRevisions(db, filter, page), countRevisions(db, filter)])
  return { rows, total }
}
