/** Statements on the spans of runs. */
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"

export interface SpanRow {
  readonly seq: number
  /** JSON text: the header of the span, as its worker sent it. */
  readonly span: string
  /** JSON text `{input, output}`; empty when there is none. */
  readonly content: string
}

export interface NewSpan extends SpanRow {
  readonly runId: string
}

/** Writes spans, also again those that have ended meanwhile. Spans of a run that is gone are left out. */
export const putSpans = (db: Db, spans: readonly NewSpan[]): Promise<number> =>
  db.run(sql`
    insert into run_spans (run_id, seq, span, content)
    select given.* from unnest(${spans.map(({ runId }) => runId)}::uuid[], ${spans.map(({ seq }) => seq)}::bigint[],
      ${spans.map(({ span }) => span)}::text[], ${spans.map(({ content }) => content)}::text[]) as given (run_id, seq, span, content)
    where exists (select from runs r where r.run_id = given.run_id)
    on conflict (run_id, seq) do update set span = excluded.span, content = excluded.content`)

// As a page of events.
const maxPageBytes = 1024 * 1024

export interface SpanPage {
  readonly spans: readonly SpanRow[]
  readonly isLast: boolean
}

/**
 * A page of a run's spans after `after`, in the order in which they began. It is bounded in bytes too, and contains at least one span.
 * @param withContent  false: each content is empty
 */
export async function findSpans(
  db: Db,
  runId: string,
  { after, limit, withContent }: { readonly after: number; readonly limit: number; readonly withContent: boolean },
): Promise<SpanPage> {
  const spans = await db.rows<SpanRow & { isLast: boolean }>(sql`
    select seq, span, content, is_last as "isLast" from (
      select seq, span, content, lead(seq) over (order by seq) is null as is_last,
        sum(octet_length(span) + octet_length(content)) over (order by seq) - octet_length(span) - octet_length(content) as bytes_before
      from (
        select seq, span, case when ${withContent} then content else '' end as content from run_spans
        where run_id = ${runId} and seq > ${after} order by seq limit ${limit + 1}) found) page
    where bytes_before < ${maxPageBytes} order by seq limit ${limit}`)
  return { spans, isLast: spans.at(-1)?.isLast ?? true }
}

/** @returns  the number of deleted spans */
export const deleteOldSpans = (db: Db, { keepDays, limit }: { readonly keepDays: number; readonly limit: number }) =>
  db.run(sql`
    delete from run_spans where ctid = any (array(
      select ctid from run_spans where created_at < now() - make_interval(days => ${keepDays}) order by created_at limit ${limit}))`)

export const beforeAllSpans = "00000000-0000-0000-0000-000000000000"

interface LeftSpans {
  /** The last run of the former portion. */
  readonly after: string
  /** How many runs with spans to look at. */
  readonly runs: number
  /** How many spans to delete. */
  readonly limit: number
}

/**
 * Looks at the next runs that have spans, and deletes the spans of those that are gone. It jumps from run to run in the index, and asks for each run on its own, so that no
 * plan reads all spans or all runs.
 * @returns  where to continue, undefined after the last run; and the number of deleted spans
 */
export async function deleteLeftSpans(
  db: Db,
  { after, runs, limit }: LeftSpans,
): Promise<{ readonly next: string | undefined; readonly deleted: number }> {
  const found = await db.row<{ next: string | null; deleted: number }>(sql`
    with recursive traced (run_id, n) as (
      select (select run_id from run_spans where run_id > ${after} order by run_id limit 1), 1
      union all
      select (select s.run_id from run_spans s where s.run_id > t.run_id order by s.run_id limit 1), t.n + 1
      from traced t where t.run_id is not null and t.n < ${runs}),
    page as materialized (select run_id, n from traced where run_id is not null),
    gone as materialized (
      select run_id from page p where (select true from runs r where r.run_id = p.run_id) is null),
    deleted as (
      delete from run_spans where ctid = any (array(
        select s.place from gone g cross join lateral (
          select ctid as place from run_spans o where o.run_id = g.run_id limit ${limit}) s
        limit ${limit}))
      returning true)
    select (select run_id from page where n = ${runs}) as next, (select count(*)::int from deleted) as deleted`)
  return { next: found?.next ?? undefined, deleted: found?.deleted ?? 0 }
}
