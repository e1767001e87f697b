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
