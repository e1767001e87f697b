/** What can be known of a thread when everything is over: its rows, its runs' logs, and what its nodes told. */
import { readFileSync } from "node:fs"
import type { Database } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import type { ReceivedEvent } from "superstep/prove/event-client"
import type { Durability } from "./conversation.js"

/** A node told that it executes. */
export interface Execution {
  readonly run_id: string
  readonly node: string
  readonly attempt: number
  /** The super-step, counted as the checkpoint that ends it is. */
  readonly step: number
  readonly pid: number
  /** The root's checkpoint from which LangGraph started the super-step. */
  readonly from?: string | null
  /** The namespace of the node's task: `node:task` in the root graph, more of them with `|` in others. */
  readonly ns: string
}

export interface CheckpointFact {
  readonly id: string
  readonly step: number
  readonly runId: string
  /** The attempt that saved it. */
  readonly attempt: number
}

export interface RunFact {
  readonly runId: string
  readonly turn: string
  readonly status: string
  readonly attempt: number
  readonly losses: number
  readonly durability: Durability
  readonly error: string | null
}

export interface ThreadFacts {
  readonly threadId: string
  readonly status: string
  readonly values: { readonly count?: number; readonly messages?: readonly string[] }
  /** In the order in which they were asked for. */
  readonly runs: readonly RunFact[]
  /** Of the root graph. */
  readonly checkpoints: readonly CheckpointFact[]
  readonly executions: readonly Execution[]
  /** The event log, by run. */
  readonly logs: ReadonlyMap<string, readonly ReceivedEvent[]>
}

/** Everything that nodes have told so far. A line that is being written is left for the next look. */
export function readEffects(file: string): Execution[] {
  let text = ""
  try {
    text = readFileSync(file, "utf8")
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error
  }
  const lines = text.slice(0, text.lastIndexOf("\n") + 1).split("\n")
  return lines.filter((line) => line !== "").map((line) => JSON.parse(line) as Execution)
}

export async function factsOf(db: Database, effects: readonly Execution[], threadId: string): Promise<ThreadFacts> {
  const thread = await db.row<{ status: string; values: string | null }>(
    sql`select status, values from threads where thread_id = ${threadId}`,
  )
  if (!thread) throw new Error(`thread ${threadId} is gone`)
  const runs = await db.rows<RunFact>(sql`
    select run_id as "runId", metadata ->> 'turn' as turn, status, attempt, losses, kwargs ->> 'durability' as durability,
      error::text as error
    from runs where thread_id = ${threadId} order by seq`)
  const checkpoints = await db.rows<CheckpointFact>(sql`
    select checkpoint_id as id, (metadata ->> 'step')::int as step, metadata ->> 'run_id' as "runId",
      (metadata ->> 'run_attempt')::int as attempt
    from checkpoints where thread_id = ${threadId} and checkpoint_ns = '' order by seq, checkpoint_id`)
  const logs = new Map<string, ReceivedEvent[]>()
  for (const { runId } of runs) logs.set(runId, await logOf(db, runId))
  const ids = new Set(runs.map(({ runId }) => runId))
  const executions = effects.filter(({ run_id }) => ids.has(run_id))
  const values = JSON.parse(thread.values ?? "{}")
  return { threadId, status: thread.status, values, runs, checkpoints, executions, logs }
}

/** What is not at rest in the whole database, whoever asked for it: a sentence each. */
export async function unfinished(db: Database): Promise<string[]> {
  const rows = await db.rows<{ detail: string }>(sql`
    select format('run %s of thread %s is %s', run_id, thread_id, status) as detail
      from runs where status in ('pending', 'running')
    union all
    select format('thread %s is busy', thread_id) from threads where status = 'busy'`)
  return rows.map(({ detail }) => detail)
}

export async function logOf(db: Database, runId: string): Promise<ReceivedEvent[]> {
  const rows = await db.rows<{ seq: number; event: string; data: string }>(
    sql`select seq, event, data from run_events where run_id = ${runId} order by seq`,
  )
  return rows.map(({ seq, event, data }) => ({ id: seq, event, data: JSON.parse(data) }))
}
