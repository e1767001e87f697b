/**
 * Stops an installation at a named moment of a run. Nothing in the product knows of it: the test holds a lock that the
 * next statement needs, or stops a process, and looks at what Postgres and the nodes tell until the moment has come.
 */
import { writeFileSync } from "node:fs"
import type { Database } from "@superstep/toolkit/db/database"
import { type Sql, sql } from "@superstep/toolkit/db/sql"
import { send } from "@superstep/toolkit/testing/processes"
import { until } from "@superstep/toolkit/testing/until"
import { type Execution, readEffects } from "./facts.js"
import type { Installation } from "./installation.js"

const timeoutMs = 30_000

/** A lock that the test holds until `release`, or until it is disposed of; it is gone when Postgres is. */
export interface HeldLock extends AsyncDisposable {
  /** The session of Postgres that holds it. */
  readonly pid: number
  release(): Promise<void>
}

/** Holds what a statement locks. */
export async function holdLock(db: Database, statement: Sql): Promise<HeldLock> {
  let release: () => void = () => undefined
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  let held: (pid: number) => void = () => undefined
  const isHeld = new Promise<number>((resolve) => {
    held = resolve
  })
  const transaction = db.transaction(async (tx) => {
    await tx.run(statement)
    held((await tx.row<{ pid: number }>(sql`select pg_backend_pid() as pid`))?.pid ?? 0)
    await released
    return 0
  })
  // A Postgres that was killed has released the lock, and says so by an error.
  const over = transaction.catch(() => undefined)
  const pid = await Promise.race([isHeld, transaction])
  const end = async () => {
    release()
    await over
  }
  return { pid, release: end, [Symbol.asyncDispose]: end }
}

/** Lets the saving of each checkpoint take a lock of its own, shared, so that a test can hold back the one it means. */
export const makeCheckpointsHoldable = (db: Database): Promise<void> =>
  db.transaction(async (tx) => {
    await tx.run(sql`
      create function chaos_gate() returns trigger language plpgsql as $$
      begin
        perform pg_advisory_xact_lock_shared(hashtextextended(new.thread_id || ' ' || (new.metadata ->> 'step'), 0));
        return new;
      end
      $$`)
    await tx.run(sql`
      create trigger chaos_gate before insert on checkpoints for each row execute function chaos_gate()`)
  })

const lockCheckpoint = (threadId: string, step: number): Sql =>
  sql`select pg_advisory_xact_lock(hashtextextended(${threadId} || ' ' || ${String(step)}, 0))`

export const lockCheckpoints = sql`lock table checkpoints in share mode`
export const lockEvents = sql`lock table run_events in share mode`
export const lockThread = (threadId: string): Sql => sql`select from threads where thread_id = ${threadId} for update`

/** Waits until a server waits for the lock. */
export async function untilWaiting(db: Database, { pid }: HeldLock): Promise<void> {
  const waits = () => db.row(sql`select from pg_stat_activity where ${pid} = any (pg_blocking_pids(pid)) limit 1`)
  await until(waits, { what: "a server waits for the lock", timeoutMs })
}

/** Waits until a node of a run executes. @returns what it told */
export function untilExecuting(
  { effectsFile }: Pick<Installation, "effectsFile">,
  isIt: (execution: Execution) => boolean,
): Promise<Execution> {
  return until(() => readEffects(effectsFile).findLast(isIt), { what: "a node executes", timeoutMs })
}

export interface LastStep {
  readonly threadId: string
  readonly runId: string
  readonly lastStep: number
  readonly gate: string
}

/**
 * Waits until a run's last checkpoint is saved while its worker can say nothing any more: the worker is stopped, and
 * goes on only by SIGCONT. The run's last super-step waits for the gate, which is opened here.
 */
export async function stopAfterLastCheckpoint(
  { db, effectsFile }: Installation,
  { threadId, runId, lastStep, gate }: LastStep,
): Promise<Execution> {
  const last = await untilExecuting({ effectsFile }, (one) => one.run_id === runId && one.step === lastStep)
  await using lock = await holdLock(db, lockCheckpoint(threadId, lastStep))
  writeFileSync(gate, "")
  await untilWaiting(db, lock)
  send(last.pid, "SIGSTOP")
  await lock.release()
  const isSaved = () =>
    db.row(sql`
      select from checkpoints where thread_id = ${threadId} and (metadata ->> 'step')::int = ${lastStep}`)
  await until(isSaved, { what: "the last checkpoint is saved", timeoutMs })
  return last
}
