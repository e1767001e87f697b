/** A thread whose `messages` and `files` are delta channels, as saved by LangGraph, with an ordinary channel `log`. */
import { randomUUID } from "node:crypto"
import type { Database } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"

export const deltaChannels = ["messages", "files"] as const
export type DeltaChannel = (typeof deltaChannels)[number]

interface Step {
  readonly id: string
  readonly parent?: string
  readonly runId: string
  readonly ns?: string
  /** What the step adds to the channels: its parent holds these writes. */
  readonly adds?: Partial<Record<DeltaChannel, string>>
  /** Channels whose whole value this checkpoint stores. */
  readonly stores?: Partial<Record<DeltaChannel, string>>
}

type Versions = Readonly<Record<string, string>>

export class DeltaThread {
  readonly threadId = randomUUID()
  readonly #db: Database
  readonly #versions = new Map<string, Versions>()

  private constructor(db: Database) {
    this.#db = db
  }

  static async create(db: Database): Promise<DeltaThread> {
    const thread = new DeltaThread(db)
    await db.run(sql`insert into threads (thread_id) values (${thread.threadId})`)
    return thread
  }

  /** A run that is over, or in flight. */
  async addRun(status: "success" | "running" = "success"): Promise<string> {
    const runId = randomUUID()
    await this.#db.run(sql`
      insert into runs (run_id, thread_id, assistant_id, graph_id, status, metadata, kwargs, multitask_strategy, claim_id)
      values (${runId}, ${this.threadId}, ${randomUUID()}, 'chat', ${status}, '{}', '{}', 'enqueue',
        ${status === "running" ? randomUUID() : null})`)
    return runId
  }

  async add({ id, parent, runId, ns = "", adds = {}, stores = {} }: Step): Promise<void> {
    const changed = { ...adds, ...stores, log: id }
    const versions = {
      ...this.#versions.get(`${ns} ${parent}`),
      ...Object.fromEntries(Object.keys(changed).map((channel) => [channel, `${channel}-${id}`])),
    }
    this.#versions.set(`${ns} ${id}`, versions)
    const counted = Object.fromEntries(deltaChannels.filter((it) => !(it in stores)).map((it) => [it, [1, 1]]))
    const blobs = Object.keys(changed).map((channel) => ({ channel, version: versions[channel] }))
    if (parent !== undefined) await this.addWrites({ id, parent, runId, ns, adds })
    await this.#db.run(sql`
      with blobs as (
        insert into checkpoint_blobs (thread_id, checkpoint_ns, channel, version, type, blob)
        select ${this.threadId}, ${ns}, channel, version, case when value is null then 'empty' else 'json' end,
          convert_to(value::text, 'UTF8')
        from jsonb_to_recordset(${JSON.stringify(blobs)}) as b (channel text, version text)
          left join jsonb_each(${JSON.stringify({ ...stores, log: id })}) as v (key, value) on v.key = b.channel)
      insert into checkpoints (thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, checkpoint, metadata)
      values (${this.threadId}, ${ns}, ${id}, ${parent ?? null},
        ${JSON.stringify({ v: 4, id, channel_versions: versions, versions_seen: {} })},
        ${JSON.stringify({ run_id: runId, counters_since_delta_snapshot: counted })})`)
  }

  /** The writes of a step alone: its super-step ended, and its checkpoint was not saved. */
  async addWrites({ id, parent = "", runId, ns = "", adds = {} }: Step): Promise<void> {
    await this.#db.run(sql`
      insert into checkpoint_writes (thread_id, checkpoint_ns, checkpoint_id, task_id, idx, channel, type, blob, run_id)
      select ${this.threadId}, ${ns}, ${parent}, ${`task of ${id}`}, row_number() over (), key, 'json',
        convert_to(value::text, 'UTF8'), ${runId}
      from jsonb_each(${JSON.stringify(adds)})`)
  }
}
