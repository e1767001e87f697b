/** Statements that search threads. They never find threads of stateless runs, which belong to these runs. */
import type { Db } from "@superstep/toolkit/db/database"
import { toJsonbText } from "@superstep/toolkit/db/jsonb"
import { joinSql, type Sql, sql } from "@superstep/toolkit/db/sql"
import { toJsonText } from "@superstep/toolkit/http/json"
import type { MetadataFilter } from "../auth/metadata-filter.js"
import { matchesFilter } from "../auth/queries.js"
import type { Page } from "../http/pagination.js"
import type { ThreadRow, ThreadStatus } from "./thread.js"

type JsonObject = Readonly<Record<string, unknown>>

export interface ThreadFilter {
  /** Undefined is no condition; an empty list finds nothing. */
  readonly ids: readonly string[] | undefined
  /** The metadata must contain `metadata`, and the last known state must contain `values`. */
  readonly metadata: JsonObject | undefined
  readonly values: JsonObject | undefined
  readonly status: ThreadStatus | undefined
  /** Occurs in the last known state, in any case. No index helps: the states of all threads that match the rest are read. */
  readonly text?: string | undefined
  /** Bounds of `updated_at`: from this moment on, and before that one. */
  readonly updatedAfter?: Date | undefined
  readonly updatedBefore?: Date | undefined
}

const sortColumns = {
  thread_id: sql`thread_id`,
  status: sql`threads.status`,
  created_at: sql`created_at`,
  updated_at: sql`updated_at`,
  state_updated_at: sql`state_updated_at`,
} as const

export interface ThreadOrder {
  readonly sortBy: keyof typeof sortColumns
  readonly sortOrder: "asc" | "desc"
}

export interface ThreadSearch {
  readonly filter: ThreadFilter
  readonly access: MetadataFilter | undefined
  readonly order: ThreadOrder
  readonly page: Page
  /** Whether to read the state, which may be large. */
  readonly withValues: boolean
}

export const searchThreads = (
  db: Db,
  { filter, access, order, page, withValues }: ThreadSearch,
): Promise<ThreadRow[]> => {
  const direction = order.sortOrder === "asc" ? sql`asc` : sql`desc`
  return db.rows<ThreadRow>(sql`
    select thread_id, status_of(threads) as status, graph_id, assistant_id, metadata, config, ${withValues ? sql`values` : sql`null::json as values`},
      interrupts, error, created_at, updated_at, state_updated_at
    from threads where ${matching(filter, access)}
    order by ${sortColumns[order.sortBy]} ${direction}, thread_id ${direction}
    limit ${page.limit} offset ${page.offset}`)
}

/** @param limit  the number at which counting stops */
export const countThreads = async (
  db: Db,
  filter: ThreadFilter,
  access: MetadataFilter | undefined,
  limit?: number,
): Promise<number> => {
  const row = await db.row<{ count: number }>(sql`
    select count(*) from (
      select from threads where ${matching(filter, access)} ${limit === undefined ? sql`` : sql`limit ${limit}`}) found`)
  return row?.count ?? 0
}

const matching = (filter: ThreadFilter, access: MetadataFilter | undefined): Sql => {
  const { ids, metadata, values, status, text, updatedAfter, updatedBefore } = filter
  return joinSql(
    [
      sql`not is_ephemeral`,
      ...(ids === undefined ? [] : [sql`thread_id = any (${ids}::uuid[])`]),
      ...(status === undefined ? [] : [hasStatus(status)]),
      ...(isEmpty(metadata) ? [] : [sql`searchable_metadata @> ${jsonbText(metadata)}::jsonb`]),
      matchesFilter(sql`searchable_metadata`, access),
      ...(isEmpty(values) ? [] : [sql`searchable(values) @> ${jsonbText(values)}::jsonb`]),
      ...(updatedAfter === undefined ? [] : [sql`updated_at >= ${updatedAfter}`]),
      ...(updatedBefore === undefined ? [] : [sql`updated_at < ${updatedBefore}`]),
      ...(text ? [sql`strpos(lower(values::text), lower(${asInJson(text)})) > 0`] : []),
    ],
    " and ",
  )
}

// Only a busy thread may be shown as another one, and only as an interrupted one.
const hasStatus = (status: ThreadStatus): Sql =>
  status === "interrupted" || status === "busy"
    ? sql`status in ('busy', ${status}) and status_of(threads) = ${status}`
    : sql`status = ${status}`

/** The state is searched as it is stored, where a quote or a line break in a string is escaped. */
const asInJson = (text: string): string => toJsonText(text).slice(1, -1)

const isEmpty = (object: JsonObject | undefined): boolean => Object.keys(object ?? {}).length === 0

const jsonbText = (object: JsonObject | undefined): string => toJsonbText(toJsonText(object))
