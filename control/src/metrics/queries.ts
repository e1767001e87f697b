/** The tables `unit_samples`, `traffic_samples` and `run_samples`, and the operator's counts. */
import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import type { RunSample } from "./run-sample.js"
import type { At, TrafficSample, UnitSample } from "./sample.js"

/** Samples of one moment. */
export interface Samples {
  readonly units: readonly UnitSample[]
  readonly traffic: readonly TrafficSample[]
  readonly runs: readonly RunSample[]
}

/** As a row: without models their columns are null. */
const trafficRow = ({ models, ...sample }: TrafficSample) => ({ ...sample, ...models })

/** Adds samples; those of deployments deleted meanwhile are left out. */
export async function insertSamples(tx: Db, { units, traffic, runs }: Samples): Promise<void> {
  await tx.run(sql`
    insert into unit_samples (deployment_id, at, unit_id, revision_id, cpu_cores, rss_bytes, restarts)
    select s.deployment_id, now(), s.unit_id, s.revision_id, s.cpu_cores, s.rss_bytes, s.restarts
    from jsonb_to_recordset(${JSON.stringify(units)}::jsonb) as s (deployment_id uuid, unit_id uuid, revision_id uuid,
      cpu_cores real, rss_bytes bigint, restarts integer)
    join deployments using (deployment_id)`)
  await tx.run(sql`
    insert into traffic_samples (deployment_id, at, replicas, requests, errors, latency_ms, latency_counts, pending_runs,
      active_runs, input_tokens, output_tokens, first_token_ms, first_token_counts)
    select s.deployment_id, now(), s.replicas, s.requests, s.errors, s.latency_ms, s.latency_counts, s.pending_runs,
      s.active_runs, s.input_tokens, s.output_tokens, s.first_token_ms, s.first_token_counts
    from jsonb_to_recordset(${JSON.stringify(traffic.map(trafficRow))}::jsonb) as s (deployment_id uuid,
      replicas integer, requests bigint, errors bigint, latency_ms float8, latency_counts bigint[], pending_runs integer,
      active_runs integer, input_tokens bigint, output_tokens bigint, first_token_ms float8, first_token_counts bigint[])
    join deployments using (deployment_id)`)
  await tx.run(sql`
    insert into run_samples (deployment_id, at, revision_id, ended, failed, latency_ms, latency_counts)
    select s.deployment_id, now(), s.revision_id, s.ended, s.failed, s.latency_ms, s.latency_counts
    from jsonb_to_recordset(${JSON.stringify(runs)}::jsonb) as s (deployment_id uuid, revision_id uuid, ended bigint,
      failed bigint, latency_ms float8, latency_counts bigint[])
    join deployments using (deployment_id)`)
}

export const runSamplesOf = (db: Db, deploymentId: string, windowMs: number): Promise<At<RunSample>[]> =>
  db.rows(sql`
    select deployment_id, at, revision_id, ended, failed, latency_ms, to_jsonb(latency_counts) as latency_counts
    from run_samples
    where deployment_id = ${deploymentId} and at > now() - make_interval(secs => ${windowMs} / 1000.0)
    order by at desc`)

export const trafficOf = (db: Db, deploymentId: string, windowMs: number): Promise<At<TrafficSample>[]> =>
  db.rows(sql`
    select deployment_id, at, replicas, requests, errors, latency_ms, to_jsonb(latency_counts) as latency_counts,
      pending_runs, active_runs, case when input_tokens is not null then jsonb_build_object('input_tokens', input_tokens,
        'output_tokens', output_tokens, 'first_token_ms', first_token_ms, 'first_token_counts', first_token_counts)
      end as models
    from traffic_samples
    where deployment_id = ${deploymentId} and at > now() - make_interval(secs => ${windowMs} / 1000.0) order by at`)

export const unitSamplesOf = (db: Db, deploymentId: string, windowMs: number): Promise<At<UnitSample>[]> =>
  db.rows(sql`
    select * from unit_samples
    where deployment_id = ${deploymentId} and at > now() - make_interval(secs => ${windowMs} / 1000.0)
    order by at, unit_id`)

/** Deletes old samples. */
export async function deleteOldSamples(db: Db, hours: number): Promise<void> {
  await db.run(sql`delete from unit_samples where at < now() - make_interval(hours => ${hours})`)
  await db.run(sql`delete from run_samples where at < now() - make_interval(hours => ${hours})`)
  await db.run(sql`delete from traffic_samples where at < now() - make_interval(hours => ${hours})`)
}

export interface StateCount {
  readonly kind: "deployments" | "revisions" | "units" | "deliveries"
  readonly state: string
  readonly count: number
}

/** Counts over all workspaces; of revisions only the unfinished, of deliveries only the waiting. */
export const stateCounts = (db: Db): Promise<StateCount[]> =>
  db.rows(sql`
    select 'deployments' as kind, status as state, count(*) as count from deployments group by status
    union all select 'revisions', stage, count(*) from revisions where stage is not null group by stage
    union all select 'units', role, count(*) from units join revisions using (revision_id) group by role
    union all select 'deliveries', state, count(*) from webhook_deliveries where state = 'pending' group by state`)

type Present = Pick<TrafficSample, "deployment_id" | "replicas" | "pending_runs" | "active_runs">

export interface LatestSample extends Present {
  readonly workspace_id: string
  readonly name: string
  readonly cpu_cores: number | null
  readonly rss_bytes: number | null
  readonly restarts: number | null
}

/** The newest samples of all deployments in all workspaces; units without a sample in the last minute are left out. */
export const latestSamples = (db: Db): Promise<LatestSample[]> =>
  db.rows(sql`
    select d.deployment_id, d.workspace_id, d.name, t.replicas, t.pending_runs, t.active_runs, u.cpu_cores, u.rss_bytes,
      u.restarts
    from deployments d
    join lateral (
      select * from traffic_samples t where t.deployment_id = d.deployment_id and t.at > now() - interval '1 minute'
      order by t.at desc limit 1) t on true
    left join lateral (
      select sum(cpu_cores)::float8 as cpu_cores, sum(rss_bytes)::float8 as rss_bytes, sum(restarts)::int as restarts
      from unit_samples u where u.deployment_id = d.deployment_id and u.at = t.at) u on true
    order by d.deployment_id`)

export interface Connections {
  readonly used: number
  readonly most: number
}

/** For the whole database server: all its clients count, agents included. */
export const serverConnections = async (db: Db): Promise<Connections> => {
  const row = await db.row<Connections>(sql`
    select (select count(*) from pg_stat_activity where backend_type = 'client backend') as used,
      current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int as most`)
  if (!row) throw new Error("a query without a table returned no row")
  return row
}

/** Whether a valid key of the whole installation has this hash. */
export const isOperatorKey = async (db: Db, sha256: string): Promise<boolean> => {
  const row = await db.row(sql`
    select 1 from api_keys where sha256 = ${sha256} and workspace_id is null and revoked_at is null
      and (expires_at is null or expires_at > now())`)
  return row !== undefined
}
