/** What the database did, recorded by triggers in tables that only the simulation has: nobody's account of it is believed. */
import type { Database, Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import type { AttemptEnding, CancelAction, RunStatus } from "../../run.js"

/** A change of a run. */
export interface Step {
  readonly at_ms: number
  readonly run_id: string
  readonly thread_id: string
  /** Null before the run was created, and after it was deleted. */
  readonly old_status: RunStatus | null
  readonly status: RunStatus | null
  readonly old_attempt: number | null
  readonly attempt: number | null
  readonly old_claim_id: string | null
  readonly claim_id: string | null
  readonly old_claimed_by: string | null
  readonly claimed_by: string | null
  readonly losses: number
  readonly servers_lost: number
  readonly runs_alone: boolean
  readonly cancel_action: CancelAction | null
  readonly deletes_thread: boolean
  readonly is_due: boolean
  /** How many other runs of the thread execute, and how many have waited for longer. */
  readonly executing: number
  readonly earlier: number
  /** How its last attempt ended, when it waits again. */
  readonly ending: AttemptEnding | null
  /** Whether the server of the old claim holds it: its own time, or the lease of its server, has not ended. */
  readonly is_held: boolean
}

/** A write of a claim: a checkpoint, or the values at the end of its run. */
export interface Write {
  readonly at_ms: number
  readonly kind: "checkpoint" | "values"
  readonly claim_id: string
  /** Whether the run's present claim is this one. */
  readonly is_fenced: boolean
}

/** A renewal of a server's lease. */
export interface Renewal {
  readonly at_ms: number
  readonly server_id: string
  /** How long the lease lasts from then on. */
  readonly lease_ms: number
}

const now = sql`current_setting('superstep.simulated_ms')::bigint`

/** Prepares a database for simulations of the queue. */
export async function recordRuns(db: Database): Promise<void> {
  await db.run(sql`
    create table recorded_steps (seq bigint generated always as identity, at_ms bigint, run_id uuid, thread_id uuid, old_status text, status text,
      old_attempt integer, attempt integer, old_claim_id uuid, claim_id uuid, old_claimed_by uuid, claimed_by uuid, losses integer,
      servers_lost integer, runs_alone boolean, cancel_action text, deletes_thread boolean, is_due boolean, executing integer, earlier integer,
      ending text, is_held boolean)`)
  await db.run(sql`
    create table recorded_writes (seq bigint generated always as identity, at_ms bigint, kind text, claim_id uuid, is_fenced boolean)`)
  await db.run(sql`
    create table recorded_renewals (seq bigint generated always as identity, at_ms bigint, server_id uuid, lease_ms float8)`)
  // A record is null where there is no row.
  await db.run(sql`
    create function record_step() returns trigger language plpgsql as $$
    declare
      _run runs := coalesce(new, old);
    begin
      insert into recorded_steps (at_ms, run_id, thread_id, old_status, status, old_attempt, attempt, old_claim_id, claim_id, old_claimed_by,
          claimed_by, losses, servers_lost, runs_alone, cancel_action, deletes_thread, is_due, executing, earlier, ending, is_held)
        select ${now}, _run.run_id, _run.thread_id, old.status, new.status, old.attempt, new.attempt, old.claim_id,
          new.claim_id, old.claimed_by, new.claimed_by, _run.losses, _run.servers_lost, _run.runs_alone, _run.cancel_action,
          _run.delete_thread_on_completion, _run.not_before <= superstep_now(),
          (select count(*) from runs o where o.thread_id = _run.thread_id and o.run_id <> _run.run_id and o.status = 'running'),
          (select count(*) from runs o where o.thread_id = _run.thread_id and o.status = 'pending'
            and (o.not_before, o.seq) < (_run.not_before, _run.seq)),
          case when new.status = 'pending' then new.past_attempts -> -1 ->> 'ending' end,
          old.claimed_by is not null and (old.lease_until >= superstep_now()
            or exists (select from servers s where s.server_id = old.claimed_by and s.lease_until >= superstep_now()));
      return null;
    end $$`)
  await db.run(sql`
    create trigger record_new_run after insert or delete on runs for each row execute function record_step()`)
  await db.run(sql`
    create trigger record_step after update on runs for each row
    when ((old.status, old.attempt, old.claim_id) is distinct from (new.status, new.attempt, new.claim_id)) execute function record_step()`)
  await db.run(sql`
    create function record_checkpoint() returns trigger language plpgsql as $$ begin
      insert into recorded_writes (at_ms, kind, claim_id, is_fenced)
        select ${now}, 'checkpoint', (new.metadata ->> 'claim')::uuid, exists (
          select from runs where run_id = (new.metadata ->> 'run_id')::uuid and claim_id = (new.metadata ->> 'claim')::uuid);
      return null;
    end $$`)
  await db.run(sql`
    create trigger record_checkpoint after insert on checkpoints for each row execute function record_checkpoint()`)
  await db.run(sql`
    create function record_values() returns trigger language plpgsql as $$ begin
      insert into recorded_writes (at_ms, kind, claim_id, is_fenced)
        select ${now}, 'values', (new.values ->> 'claim')::uuid, exists (
          select from runs where thread_id = new.thread_id and claim_id = (new.values ->> 'claim')::uuid);
      return null;
    end $$`)
  await db.run(sql`
    create trigger record_values after update on threads for each row
    when (new.values::text is distinct from old.values::text and new.values is not null) execute function record_values()`)
  await db.run(sql`
    create function record_renewal() returns trigger language plpgsql as $$ begin
      insert into recorded_renewals (at_ms, server_id, lease_ms)
        select ${now}, new.server_id, extract(epoch from new.lease_until - superstep_now()) * 1000;
      return null;
    end $$`)
  await db.run(sql`
    create trigger record_renewal after insert or update on servers for each row execute function record_renewal()`)
}

/** Deletes the history before. */
export async function forgetRecords(db: Pick<Db, "run">): Promise<void> {
  await db.run(sql`
    truncate runs, threads, servers, checkpoints, checkpoint_blobs, checkpoint_writes, run_events, recorded_steps, recorded_writes,
      recorded_renewals restart identity cascade`)
}

export interface Records {
  readonly steps: readonly Step[]
  readonly writes: readonly Write[]
  readonly renewals: readonly Renewal[]
}

export const readRecords = async (db: Pick<Db, "rows">): Promise<Records> => ({
  steps: await db.rows<Step>(sql`select * from recorded_steps order by seq`),
  writes: await db.rows<Write>(sql`select * from recorded_writes order by seq`),
  renewals: await db.rows<Renewal>(sql`select * from recorded_renewals order by seq`),
})
