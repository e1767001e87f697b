/** Statements on assistants and their versions. */
import type { Db } from "@superstep/toolkit/db/database"
import { identifier, joinSql, type Sql, sql } from "@superstep/toolkit/db/sql"
import { parseJson, toJsonText } from "@superstep/toolkit/http/json"
import type { MetadataFilter } from "../auth/metadata-filter.js"
import { matchesFilter } from "../auth/queries.js"
import type { Page } from "../http/pagination.js"
import {
  type Assistant,
  type AssistantRow,
  type AssistantVersionRow,
  type GraphDefaults,
  systemAssistant,
} from "./assistant.js"

const columns = sql`assistant_id, version, graph_id, name, description, config, context, metadata, created_at, updated_at`

/** What a run takes from its assistant. */
export async function findAssistant(db: Db, assistantId: string): Promise<Assistant | undefined> {
  const row = await db.row<
    Pick<AssistantRow, "assistant_id" | "graph_id" | "config" | "context" | "metadata"> & { readonly stamp: string }
  >(sql`
    select assistant_id, graph_id, config, context, metadata, assistant_stamp(assistants) as stamp
    from assistants where assistant_id = ${assistantId}`)
  return (
    row && {
      assistantId: row.assistant_id,
      graphId: row.graph_id,
      config: parseJson(row.config),
      context: parseJson(row.context),
      metadata: parseJson(row.metadata),
      stamp: row.stamp,
    }
  )
}

/** One assistant. @param filter  what its metadata must match; an assistant that does not match counts as missing */
export const findAssistantRow = (
  db: Db,
  assistantId: string,
  filter: MetadataFilter | undefined,
): Promise<AssistantRow | undefined> =>
  db.row(sql`
    select ${columns} from assistants
    where assistant_id = ${assistantId} and ${matchesFilter(sql`searchable_metadata`, filter)}`)

/** The assistant that has this id, and whether the caller may see it. */
export const findTakenId = (
  db: Db,
  assistantId: string,
  filter: MetadataFilter | undefined,
): Promise<(AssistantRow & { readonly is_visible: boolean }) | undefined> =>
  db.row(sql`
    select ${columns}, ${matchesFilter(sql`searchable_metadata`, filter)} as is_visible
    from assistants where assistant_id = ${assistantId}`)

/** Like `findAssistantRow`, and locks the assistant until the transaction ends. */
export const lockAssistant = (
  tx: Db,
  assistantId: string,
  filter: MetadataFilter | undefined,
): Promise<AssistantRow | undefined> =>
  tx.row(sql`
    select ${columns} from assistants
    where assistant_id = ${assistantId} and ${matchesFilter(sql`searchable_metadata`, filter)} for update`)

/** What an assistant is made of; JSON texts. */
export interface AssistantValues {
  readonly graphId: string
  readonly name: string
  readonly description: string | null
  readonly config: string
  readonly context: string
  readonly metadata: string
}

/** @returns the new assistant in version 1, or undefined when the id is taken */
export const insertAssistant = (
  db: Db,
  assistantId: string,
  { graphId, name, description, config, context, metadata }: AssistantValues,
): Promise<AssistantRow | undefined> =>
  db.row(sql`
    insert into assistants (assistant_id, graph_id, name, description, config, context, metadata)
    values (${assistantId}, ${graphId}, ${name}, ${description}, ${config}, ${context}, ${metadata})
    on conflict do nothing returning ${columns}`)

/** Makes the next version the current one. The caller has locked the assistant: two changes never get the same number. */
export const insertVersion = (
  tx: Db,
  assistantId: string,
  { graphId, name, description, config, context, metadata }: AssistantValues,
): Promise<AssistantRow | undefined> =>
  tx.row(sql`
    update assistants set graph_id = ${graphId}, name = ${name}, description = ${description}, config = ${config},
      context = ${context}, metadata = ${metadata}, updated_at = now(),
      version = (select max(version) + 1 from assistant_versions where assistant_id = ${assistantId})
    where assistant_id = ${assistantId} returning ${columns}`)

/** Makes an earlier version the current one, with all its fields. @returns undefined when the assistant or the version does not exist */
export const restoreVersion = (
  db: Db,
  { assistantId, version }: { assistantId: string; version: number },
  filter: MetadataFilter | undefined,
): Promise<AssistantRow | undefined> =>
  db.row(sql`
    update assistants a set version = v.version, graph_id = v.graph_id, name = v.name, description = v.description,
      config = v.config, context = v.context, metadata = v.metadata, updated_at = now()
    from assistant_versions v
    where a.assistant_id = ${assistantId} and v.assistant_id = a.assistant_id and v.version = ${version}
      and ${matchesFilter(sql`a.searchable_metadata`, filter)}
    returning a.assistant_id, a.version, a.graph_id, a.name, a.description, a.config, a.context, a.metadata, a.created_at,
      a.updated_at`)

/** An assistant's versions, newest first. @param metadata  JSON text that theirs must contain */
export const findVersions = (
  db: Db,
  { assistantId, metadata, limit, offset }: { assistantId: string; metadata: string | undefined } & Page,
): Promise<AssistantVersionRow[]> =>
  db.rows(sql`
    select assistant_id, version, graph_id, name, description, config, context, metadata, created_at
    from assistant_versions
    where assistant_id = ${assistantId} and ${contains(sql`searchable_metadata(metadata, null, null)`, metadata)}
    order by version desc limit ${limit} offset ${offset}`)

export const deleteAssistant = (db: Db, assistantId: string): Promise<number> =>
  db.run(sql`delete from assistants where assistant_id = ${assistantId}`)

/** Resolves when the transactions are over that create runs of an assistant and have read it (`begin_run`). It must hold no lock. */
export const untilNoneIsCreated = (db: Db, assistantId: string): Promise<number> =>
  db.run(
    sql`select pg_advisory_xact_lock(hashtext('superstep: runs of an assistant'), hashtext(${assistantId}::uuid::text))`,
  )

export interface AssistantSearch {
  /** JSON text that the metadata must contain. */
  readonly metadata: string | undefined
  readonly graphId: string | undefined
  /** Part of the name, in any case. */
  readonly name: string | undefined
  readonly filter: MetadataFilter | undefined
}

export const searchAssistants = (
  db: Db,
  search: AssistantSearch,
  { sortBy, sortOrder, limit, offset }: { sortBy: string; sortOrder: "asc" | "desc" } & Page,
): Promise<AssistantRow[]> =>
  db.rows(sql`
    select ${columns} from assistants where ${found(search)}
    order by ${identifier(sortBy)} ${sortOrder === "asc" ? sql`asc` : sql`desc`}, assistant_id
    limit ${limit} offset ${offset}`)

export async function countAssistants(db: Db, search: AssistantSearch): Promise<number> {
  const row = await db.row<{ count: number }>(sql`select count(*) from assistants where ${found(search)}`)
  return row?.count ?? 0
}

const found = ({ metadata, graphId, name, filter }: AssistantSearch): Sql =>
  joinSql(
    [
      contains(sql`searchable_metadata`, metadata),
      graphId === undefined ? sql`true` : sql`graph_id = ${graphId}`,
      name === undefined ? sql`true` : sql`strpos(lower(name), lower(${name})) > 0`,
      matchesFilter(sql`searchable_metadata`, filter),
    ],
    " and ",
  )

/** `searchable`, since a client may ask for texts that `jsonb` does not take. */
const contains = (metadata: Sql, wanted: string | undefined): Sql =>
  wanted === undefined ? sql`true` : sql`${metadata} @> searchable(${wanted}::json)`

/**
 * Gives each graph its system assistant (agent-server-api §2.3). One that is there stays as it is, unless nobody has
 * changed it: then it follows what the project says.
 */
export const insertSystemAssistants = (
  db: Db,
  graphIds: readonly string[],
  defaults: Readonly<Record<string, GraphDefaults>>,
): Promise<number> => {
  const assistants = graphIds.map((graphId) => {
    const { assistantId, metadata } = systemAssistant(graphId)
    const { description = null, config = {}, context = {} } = defaults[graphId] ?? {}
    return { assistant_id: assistantId, graph_id: graphId, description, config, context, metadata }
  })
  return db.run(sql`
    insert into assistants (assistant_id, graph_id, name, description, config, context, metadata)
    select assistant_id, graph_id, graph_id, description, config, context, metadata
    from json_to_recordset(${toJsonText(assistants)}) as system (assistant_id uuid, graph_id text, description text,
      config json, context json, metadata json)
    on conflict (assistant_id) do update set description = excluded.description, config = excluded.config,
      context = excluded.context, updated_at = now()
    where assistants.version = 1 and assistants.metadata::text = excluded.metadata::text
      and not exists (select from assistant_versions v where v.assistant_id = assistants.assistant_id and v.version > 1)
      and (assistants.description, assistants.config::text, assistants.context::text)
        is distinct from (excluded.description, excluded.config::text, excluded.context::text)`)
}
