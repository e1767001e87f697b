/**
 * What a unit answers to the control plane; `unit/README.md` describes it.
 * Generated from `protocol/unit/replies.schema.json` by `npm run generate -w protocol`; a test compares them.
 */

/** What an `integer` of the database takes. */
export type Count =
  | number

/** About thirty years: a sum of such times stays below, and a time from now on has a date in the database. */
export type Milliseconds =
  | number

export type Id =
  | string

/** For people; the control plane cuts it to 10000 characters, and replaces those that cannot be stored. */
export type Message =
  | string

export interface Share {
  readonly revision_id: Id
  /** The percentage of the threads; null for the active revision. */
  readonly weight: number | null
}

/** The revisions that execute runs of threads that are not pinned, the active one first. */
export type Traffic =
  | readonly Share[]

export interface FailedGraph {
  readonly graph_id: Message
  readonly message: Message
}

export interface RunOutcomes {
  /** Number of runs that have ended on this server since its start. */
  readonly ended: Count
  /** How many of them failed: by an error of the graph, a time limit or the death of a worker. */
  readonly failed: Count
}

/** How long these runs took: their wait, if they were never interrupted by the death of a worker, and their last attempt. */
export interface RunLatency {
  readonly sum_ms: Milliseconds
  /** By the classes of run-latency.ts. */
  readonly counts: readonly Count[]
}

/** What the models of runs used on this server since its start. */
export interface ModelUse {
  readonly input_tokens: Tokens
  readonly output_tokens: Tokens
  readonly first_token: FirstTokens
}

/** A sum over all units of a deployment still is a `bigint` of the database. */
export type Tokens =
  | number

/** How long runs took from when they could start to the first token of a model. */
export interface FirstTokens {
  readonly sum_ms: Milliseconds
  /** By the classes of run-latency.ts. One for each run with a model that streams. */
  readonly counts: readonly Count[]
}

export interface Load {
  /** How many more runs it can take now. */
  readonly free_slots: Count
  /** How long the run waits that could start first; null when none waits, or this server has room for it. */
  readonly waiting_ms: Milliseconds | null
  /** What part of the time since the last report its event loop worked, from 0 to 1. */
  readonly loop_utilization: number
}

export interface WorkerCrashes {
  /** Crashes in a row, with less than ten minutes in between. With the crashes of the unit's own process it is still a count. */
  readonly count: number
  /** Why the last process ended, such as `exit code 3`; null without a crash. */
  readonly last: Message | null
}

export interface Status {
  readonly revision_id: Id | null
  readonly pid: Count
  /** The database answers, its schema is current, and every worker has loaded every graph or reported an error. */
  readonly ready: boolean
  /** A project has a thousand at most. */
  readonly graphs: readonly Id[]
  /** Graphs that failed to load; an auth module or an app as `auth.path` or `http.app`. */
  readonly failed: readonly FailedGraph[]
  readonly serving: boolean
  readonly traffic?: Traffic
  /** Answers and edits of people wait at /internal/acts. */
  readonly has_acts?: boolean
  readonly runs?: RunOutcomes
  readonly run_latency?: RunLatency
  /** Null: runs are not traced, so it is not known. */
  readonly model_use?: ModelUse | null
  readonly load?: Load
  /** It executes the runs of threads that are pinned to its revision, also when it does not serve. */
  readonly executes_pinned?: boolean
  readonly running_runs: Count
  readonly open_streams: Count
  readonly worker_crashes?: WorkerCrashes
  /** The `PreflightRule` of protocol/edge by which the edge answers preflights for the unit, or null. One that does not fit counts as null: projects choose it. */
  readonly cross_origin?: unknown
}

export type Uuid =
  | string

/** What people answered, changed and deleted, the oldest first, until it is confirmed. */
export type Acts =
  | readonly Act[]

export interface Act {
  readonly act_id: Uuid
  readonly acted_at: string
  /** expire: a thread was given a time to live. */
  readonly kind: "answer" | "edit" | "delete" | "expire"
  readonly person: ActingPerson
  /** Null when something was deleted that belongs to no thread. */
  readonly thread_id: Uuid | null
  /** The run that answers; else null. */
  readonly run_id: Uuid | null
  /** The checkpoint that an edit made; else null. */
  readonly checkpoint_id: Id | null
  /** Names of the values that an edit gave, where it named them. */
  readonly changed: readonly Message[] | null
  /** What was deleted, or the thread that expires; else null. */
  readonly thing: DeletedThing | null
}

export interface DeletedThing {
  readonly type: "thread" | "checkpoints" | "run" | "assistant" | "cron" | "store_item"
  readonly id: Id
  /** By which people knew it, where it had such a name; of a thread that expires, what it was given. */
  readonly name: Message | null
}

export interface ActingPerson {
  readonly person_id: Uuid
  readonly name: Message
  readonly email: Message
}

export interface Idle {
  readonly is_idle: boolean
  /** Until the next cron, delayed run or webhook delivery is due; a cron may be due in a thousand years. */
  readonly next_due_ms: number | null
}

/** Of all units that share the database. */
export interface RunCounts {
  readonly pending: Count
  readonly running: Count
}

export interface Pins {
  /** Counted up to 10000. */
  readonly threads: Count
  /** Whether one of these threads has a pending or running run. */
  readonly has_runs: boolean
  readonly traffic?: Traffic
}

export interface OrphanedThread {
  readonly thread_id: Message
  readonly reason: Message
}

/** Interrupted threads that could not continue with the unit's graphs. */
export interface Orphans {
  /** The newest ones, at most 200, and as many as can be checked in 10 s. */
  readonly checked: Count
  /** How many of these could not continue. */
  readonly orphaned: Count
  /** At most five are sent. */
  readonly examples: readonly OrphanedThread[]
  /** Whether all such threads were checked. */
  readonly is_complete: boolean
}
