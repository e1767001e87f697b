/** The tables `person_acts` and `unaudited_acts`. */
import type { Person } from "@superstep/protocol/http/person"
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import { parseJson, toJsonText } from "@superstep/toolkit/http/json"
import { v7 as uuidv7 } from "uuid"
import type { ActKind, NewAct } from "./act.js"

/** Records what a person did, in the transaction that does it. */
export async function insertAct(tx: Db, { kind, person, threadId, of, changed }: NewAct): Promise<void> {
  const [runId, checkpointId] = "runId" in of ? [of.runId, null] : [null, of.checkpointId]
  const id = uuidv7()
  await tx.run(sql`
    insert into person_acts (act_id, kind, person, thread_id, run_id, checkpoint_id, changed)
    values (${id}, ${kind}, ${toJsonText(person)}, ${threadId}, ${runId}, ${checkpointId}, ${changed ?? null})`)
  if (kind === "run") return
  await announce(tx)
  await tx.run(sql`
    insert into unaudited_acts (act_id, act)
    select act_id, json_build_object('act_id', act_id, 'acted_at', acted_at, 'kind', kind, 'person', person, 'thread_id', thread_id,
      'run_id', run_id, 'checkpoint_id', checkpoint_id, 'changed', changed, 'thing', null) from person_acts where act_id = ${id}`)
}

interface Thing {
  readonly type: string
  readonly id: string
  readonly name: string | null
  readonly threadId: string | null
}

/** Keeps what a person did to things until the control plane has it, in the transaction that does it. */
export async function insertActsOnThings(
  tx: Db,
  { kind, person }: { readonly kind: "delete" | "expire"; readonly person: Person },
  things: readonly Thing[],
): Promise<void> {
  await announce(tx)
  const rows = things.map(({ threadId, ...thing }) => ({ act_id: uuidv7(), thread_id: threadId, thing }))
  await tx.run(sql`
    insert into unaudited_acts (act_id, act)
    select (it->>'act_id')::uuid, json_build_object('act_id', it->'act_id', 'acted_at', clock_timestamp(), 'kind', ${kind}::text,
      'person', ${toJsonText(person)}::json, 'thread_id', it->'thread_id', 'run_id', null, 'checkpoint_id', null, 'changed', null,
      'thing', it->'thing')
    from json_array_elements(${toJsonText(rows)}::json) it`)
}

/** The status of the servers says at once that acts wait (serving/status-stream.ts). */
const announce = (tx: Db): Promise<number> => tx.run(sql`select pg_notify('serving_changed', '')`)

export interface ActRow {
  readonly acted_at: Date
  readonly kind: ActKind
  readonly person: Person
  readonly run_id: string | null
  readonly checkpoint_id: string | null
  readonly changed: readonly string[] | null
}

/** The newest acts on a thread, newest first. */
export const actsOf = async (
  db: Db,
  threadId: string,
  { limit, offset }: { limit: number; offset: number },
): Promise<ActRow[]> => {
  const rows = await db.rows<Omit<ActRow, "person"> & { person: string }>(sql`
    select acted_at, kind, person, run_id, checkpoint_id, changed from person_acts
    where thread_id = ${threadId} order by acted_at desc, act_id desc limit ${limit} offset ${offset}`)
  return rows.map((row) => ({ ...row, person: parseJson(row.person) as Person }))
}

/** Whether a person has started a run with this id, which may have been removed since. */
export const hasActOfRun = async (db: Db, runId: string): Promise<boolean> =>
  (await db.row(sql`select from person_acts where run_id = ${runId}`)) !== undefined

// Most are a few hundred bytes, and the control plane reads no reply of more than 4 MiB.
const mostAtOnce = 500
const mostBytes = 1024 * 1024

/** The oldest acts that are not confirmed, as JSON texts; at least one, however large it is. */
export const unauditedActs = async (db: Db): Promise<string[]> => {
  const rows = await db.rows<{ act: string }>(sql`
    select act from (
      select act_id, act, row_number() over oldest as n, sum(octet_length(act::text)) over oldest as bytes
      from (select act_id, act from unaudited_acts order by act_id limit ${mostAtOnce}) each
      window oldest as (order by act_id)) counted
    where n = 1 or bytes <= ${mostBytes} order by act_id`)
  return rows.map(({ act }) => act)
}

export const hasUnauditedActs = async (db: Db): Promise<boolean> =>
  (await db.row(sql`select from unaudited_acts limit 1`)) !== undefined

export const confirmActs = (db: Db, ids: readonly string[]): Promise<number> =>
  db.run(sql`delete from unaudited_acts where act_id = any(${ids}::uuid[])`)
