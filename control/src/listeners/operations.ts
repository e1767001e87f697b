/** Registers, finds and deletes listeners. */
import { type Db, isSqlState, sqlState } from "@superstep/toolkit/db/database"
import { Conflict, NotFound } from "@superstep/toolkit/errors/errors"
import { v7 as newId } from "uuid"
import type { ComputeConfig, Listener } from "./listener.js"
import {
  countListeners,
  holdListener,
  insertListener,
  listenerById,
  listenerOfCompute,
  listenersOf,
  removeListener,
  updateListener,
} from "./queries.js"

interface ListenerIds {
  readonly workspaceId: string
  readonly listenerId: string
}

/** @throws Conflict  the workspace has a listener for this cluster, whose id is in `conflicting_id` */
export async function createListener(
  db: Db,
  workspaceId: string,
  wanted: { computeType: "k8s"; computeId: string; computeConfig: ComputeConfig },
): Promise<Listener> {
  const listener = await insertListener(db, { ...wanted, id: newId(), workspaceId })
  if (listener) return listener
  const other = await listenerOfCompute(db, workspaceId, wanted.computeId)
  throw new Conflict(`A listener for ${wanted.computeId} exists already: change it instead`, "listener_exists", {
    conflicting_id: other?.listener_id,
  })
}

const notFound = (listenerId: string) => new NotFound(`Listener ID ${listenerId} not found.`)

/** @throws NotFound  also for listeners of other workspaces */
export async function findListener(db: Db, { workspaceId, listenerId }: ListenerIds): Promise<Listener> {
  const listener = await listenerById(db, workspaceId, listenerId)
  if (!listener) throw notFound(listenerId)
  return listener
}

/** Inside a transaction it also prevents its deletion until the transaction has ended. */
export const listenerExists = async (tx: Db, workspaceId: string, listenerId: string): Promise<boolean> =>
  (await holdListener(tx, workspaceId, listenerId)) > 0

/** The same, and throws. @throws NotFound */
export async function lockListener(tx: Db, ids: ListenerIds): Promise<void> {
  if (!(await listenerExists(tx, ids.workspaceId, ids.listenerId))) throw notFound(ids.listenerId)
}

export async function listListeners(
  db: Db,
  workspaceId: string,
  page: { limit: number; offset: number },
): Promise<{ rows: Listener[]; total: number }> {
  const [rows, total] = await Promise.all([listenersOf(db, workspaceId, page), countListeners(db, workspaceId)])
  return { rows, total }
}

/** @throws NotFound */
export async function changeListener(
  db: Db,
  ids: ListenerIds,
  change: { version: string | null; computeConfig: ComputeConfig | null },
): Promise<Listener> {
  const listener = await updateListener(db, ids, change)
  if (!listener) throw notFound(ids.listenerId)
  return listener
}

/**
 * Deletes it with its tokens.
 * @throws NotFound
 * @throws Conflict  it has deployments, possibly one that is being deleted
 */
export async function deleteListener(db: Db, { workspaceId, listenerId }: ListenerIds): Promise<void> {
  try {
    if ((await removeListener(db, workspaceId, listenerId)) === 0) throw notFound(listenerId)
  } catch (error) {
    if (!isSqlState(error, sqlState.foreignKeyViolation)) throw error
    throw new Conflict(`Listener ID ${listenerId} has deployments: delete them first`, "in_use")
  }
}
