/** The table `listeners`, each statement confined to a workspace. */
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import type { ComputeConfig, Listener } from "./listener.js"

/** @returns undefined when the workspace has a listener for this cluster */
export const insertListener = (
  db: Db,
  it: { id: string; workspaceId: string; computeType: "k8s"; computeId: string; computeConfig: ComputeConfig },
): Promise<Listener | undefined> =>
  db.row(sql`
    insert into listeners (listener_id, workspace_id, compute_type, compute_id, compute_config)
    values (${it.id}, ${it.workspaceId}, ${it.computeType}, ${it.computeId}, ${JSON.stringify(it.computeConfig)}::jsonb)
    on conflict (workspace_id, compute_id) do nothing
    returning *`)

export const listenerById = (db: Db, workspaceId: string, listenerId: string): Promise<Listener | undefined> =>
  db.row(sql`select * from listeners where workspace_id = ${workspaceId} and listener_id = ${listenerId}`)

export const listenerOfCompute = (db: Db, workspaceId: string, computeId: string): Promise<Listener | undefined> =>
  db.row(sql`select * from listeners where workspace_id = ${workspaceId} and compute_id = ${computeId}`)

/** Newest first. */
export const listenersOf = (
  db: Db,
  workspaceId: string,
  { limit, offset }: { limit: number; offset: number },
): Promise<Listener[]> =>
  db.rows(sql`
    select * from listeners where workspace_id = ${workspaceId}
    order by created_at desc, listener_id desc limit ${limit} offset ${offset}`)

export const countListeners = async (db: Db, workspaceId: string): Promise<number> => {
  const row = await db.row<{ total: number }>(
    sql`select count(*) as total from listeners where workspace_id = ${workspaceId}`,
  )
  return row?.total ?? 0
}

/** Null leaves a field as it is. */
export const updateListener = (
  db: Db,
  { workspaceId, listenerId }: { workspaceId: string; listenerId: string },
  { version, computeConfig }: { version: string | null; computeConfig: ComputeConfig | null },
): Promise<Listener | undefined> =>
  db.row(sql`
    update listeners set version = coalesce(${version}, version), updated_at = now(),
      compute_config = coalesce(${computeConfig && JSON.stringify(computeConfig)}::jsonb, compute_config)
    where workspace_id = ${workspaceId} and listener_id = ${listenerId}
    returning *`)

/** @throws a foreign key violation while a deployment names it */
export const removeListener = (db: Db, workspaceId: string, listenerId: string): Promise<number> =>
  db.run(sql`delete from listeners where workspace_id = ${workspaceId} and listener_id = ${listenerId}`)

/** Prevents its deletion until the transaction that will refer to it has ended. */
export const holdListener = (tx: Db, workspaceId: string, listenerId: string): Promise<number> =>
  tx.run(sql`select 1 from listeners where workspace_id = ${workspaceId} and listener_id = ${listenerId} for key share`)
