/** The table `events`. Only operators read it without a workspace. */

import type { Db } from "@superstep/toolkit/db/database"
import { toJsonbText } from "@superstep/toolkit/db/jsonb"
import { joinSql, type Sql, sql } from "@superstep/toolkit/db/sql"
import type { Event, NewEvent } from "./event.js"

export const insertEvent = (tx: Db, event: NewEvent): Promise<number> =>
  tx.run(sql`
    insert into events (workspace_id, deployment_id, revision_id, type, data) values (${event.workspaceId},
      ${event.deploymentId ?? null}, ${event.revisionId ?? null}, ${event.type}, ${toJsonbText(JSON.stringify(event.data))}::jsonb)`)

export interface EventFilter {
  /** Absent: all of them, for operators. */
  readonly workspaceId?: string | undefined
  readonly deploymentId?: string | undefined
}

const within = ({ workspaceId, deploymentId }: EventFilter, others: Sql): Sql => {
  const where: Sql[] = [others]
  if (workspaceId !== undefined) where.push(sql`workspace_id = ${workspaceId}`)
  if (deploymentId !== undefined) where.push(sql`deployment_id = ${deploymentId}`)
  return joinSql(where, " and ")
}

/** The next events after a number, oldest first. */
export const eventsAfter = (
  db: Db,
  filter: EventFilter,
  { after, limit }: { after: number; limit: number },
): Promise<Event[]> =>
  db.rows(sql`
    select * from events where ${within(filter, sql`seq > ${after}`)} order by seq limit ${limit}`)

/** The next events before a number, newest first. @param before  undefined: from the newest on */
export const eventsBefore = (
  db: Db,
  filter: EventFilter,
  { before, limit }: { before: number | undefined; limit: number },
): Promise<Event[]> =>
  db.rows(sql`
    select * from events
    where ${within(filter, sql`seq < coalesce(${before ?? null}::bigint, 9223372036854775807)`)}
    order by seq desc limit ${limit}`)

/** Deletes old events, in all workspaces. @returns  how many */
export const deleteOldEvents = (db: Db, days: number): Promise<number> =>
  db.run(sql`delete from events where created_at < now() - make_interval(days => ${days})`)
