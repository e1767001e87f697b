/** The tables `log_forwarding` and `log_forwarding_cursors`. Lines that a quota deletes unsent are counted by `logs/queries.ts`. */
import type { Db } from "@superstep/toolkit/db/database"
import { type Sql, sql } from "@superstep/toolkit/db/sql"
import type { ForwardedLine } from "./line.js"

/** The first time, only lines from now on are to be sent; afterwards forwarding continues at its cursors. */
export const switchOn = (db: Db): Promise<number> =>
  db.run(sql`
    insert into log_forwarding (is_on, begins_after)
    values (true, coalesce((select max(log_line_id) from log_lines), 0))
    on conflict (is_only) do update set is_on = true`)

export const switchOff = (db: Db): Promise<number> =>
  db.run(sql`update log_forwarding set is_on = false, failing_since = null, failure = null`)

const firstUnsent = (stream: "build" | "deploy", limit: number): Sql => sql`
  (select * from log_lines where deployment_id = d.deployment_id and stream = ${stream}
    and log_line_id > forwarded_line(d.deployment_id) order by log_line_id limit ${limit})`

/** Deployments with lines that are not sent yet. */
export async function deploymentsWithUnsent(db: Db): Promise<string[]> {
  const rows = await db.rows<{ deployment_id: string }>(sql`
    select deployment_id from deployments d
    where exists ${firstUnsent("build", 1)} or exists ${firstUnsent("deploy", 1)} order by deployment_id`)
  return rows.map(({ deployment_id }) => deployment_id)
}

/**
 * Lines that are not sent yet, grouped by deployment in the given order, and within a deployment by id.
 * @param mostOfEach  how many lines of each deployment are read
 */
export const unsentLines = (db: Db, deploymentIds: readonly string[], mostOfEach: number): Promise<ForwardedLine[]> =>
  db.rows(sql`
    select l.log_line_id, d.workspace_id, d.deployment_id, d.name as deployment_name, l.revision_id,
      r.seq as revision_number, l.stream, l.level, l.message, l.run_id,
      to_char(l.at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as time,
      ((extract(epoch from l.at) * 1000000)::bigint * 1000)::text as time_ns
    from unnest(${deploymentIds}::uuid[]) with ordinality as asked (deployment_id, place)
    join deployments d using (deployment_id)
    cross join lateral (
      select * from (${firstUnsent("build", mostOfEach)} union all ${firstUnsent("deploy", mostOfEach)}) both_streams
      order by log_line_id limit ${mostOfEach}) l
    join revisions r on r.revision_id = l.revision_id
    order by asked.place, l.log_line_id`)

/**
 * Records that the sink accepted lines. A cursor never moves back, so two control planes during a restart do no harm.
 * @param last  the last accepted line of each deployment; those of deployments deleted meanwhile are left out
 */
export async function recordSent(
  tx: Db,
  last: ReadonlyMap<string, number>,
  { lines, rejected }: { lines: number; rejected: number },
): Promise<void> {
  await moveCursors(tx, last)
  await tx.run(sql`
    update log_forwarding set sent_lines = sent_lines + ${lines} - ${rejected}, rejected_lines = rejected_lines + ${rejected},
      failing_since = null, failure = null`)
}

/** Records that a line is not forwarded, since the sink rejects it alone. @param failure  null: forwarding works all the same */
export async function recordRejected(tx: Db, line: ReadonlyMap<string, number>, failure: string | null): Promise<void> {
  await moveCursors(tx, line)
  await tx.run(sql`
    update log_forwarding set rejected_lines = rejected_lines + 1, failure = ${failure},
      failing_since = case when ${failure}::text is not null then coalesce(failing_since, now()) end`)
}

const moveCursors = (tx: Db, last: ReadonlyMap<string, number>): Promise<number> =>
  tx.run(sql`
    insert into log_forwarding_cursors (deployment_id, forwarded_line_id)
    select deployment_id, line_id from unnest(${[...last.keys()]}::uuid[], ${[...last.values()]}::bigint[])
      as accepted (deployment_id, line_id)
    where exists (select from deployments d where d.deployment_id = accepted.deployment_id)
    order by deployment_id
    on conflict (deployment_id) do update
      set forwarded_line_id = greatest(log_forwarding_cursors.forwarded_line_id, excluded.forwarded_line_id)`)

export const recordFailure = (db: Db, failure: string): Promise<number> =>
  db.run(sql`
    update log_forwarding set failing_since = coalesce(failing_since, now()), failure = ${failure}`)

export interface ForwardingState {
  readonly sent_lines: number
  readonly rejected_lines: number
  readonly lost_lines: number
  /** How long every request has failed, in seconds; 0 while the sink accepts. */
  readonly failing_seconds: number
}

/** @returns  undefined while no sink is set */
export const forwardingState = (db: Db): Promise<ForwardingState | undefined> =>
  db.row(sql`
    select sent_lines, rejected_lines, lost_lines,
      coalesce(extract(epoch from now() - failing_since), 0)::float8 as failing_seconds
    from log_forwarding where is_on`)

// So that a request for metrics takes milliseconds, however far behind forwarding is.
const mostCounted = 10_000

/** How many lines are not sent yet; of a deployment and stream, 10,000 are counted at most. */
export async function countUnsent(db: Db): Promise<number> {
  const row = await db.row<{ count: number }>(sql`
    select count(*) as count from deployments d
    cross join lateral (
      ${firstUnsent("build", mostCounted)} union all ${firstUnsent("deploy", mostCounted)}) l`)
  return row?.count ?? 0
}
