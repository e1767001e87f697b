/** The table `events`, each statement confined to a workspace. */
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import type { Event, NewEvent } from "./event.js"

export const insertEvent = (tx: Db, event: NewEvent): Promise<number> =>
  tx.run(sql`
    insert into events (workspace_id, deployment_id, revision_id, type, data) values (${event.workspaceId},
      ${event.deploymentId ?? null}, ${event.revisionId ?? null}, ${event.type}, ${JSON.stringify(event.data)}::jsonb)`)

export interface EventFilter {
  readonly workspaceId: string
  readonly deploymentId: string
}

/** The next events after a number, oldest first. */
export const eventsAfter = (
  db: Db,
  { workspaceId, deploymentId }: EventFilter,
  { after, limit }: { after: number; limit: number },
): Promise<Event[]> =>
  db.rows(sql`
    select * from events
    where workspace_id = ${workspaceId} and deployment_id = ${deploymentId} and seq > ${after}
    order by seq limit ${limit}`)

/** The next events before a number, newest first. @param before  undefined: from the newest on */
export const eventsBefore = (
  db: Db,
  { workspaceId, deploymentId }: EventFilter,
  { before, limit }: { before: number | undefined; limit: number },
): Promise<Event[]> =>
  db.rows(sql`
    select * from events
    where workspace_id = ${workspaceId} and deployment_id = ${deploymentId}
      and seq < coalesce(${before ?? null}::bigint, 9223372036854775807)
    order by seq desc limit ${limit}`)

/** Forgets what is old, in all workspaces. @returns how many */
export const forgetOldEvents = (db: Db, days: number): Promise<number> =>
  db.run(sql`delete from events where created_at < now() - make_interval(days => ${days})`)
