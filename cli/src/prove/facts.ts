/** What clients of a conversation saw, while it was attacked and when all was calm again. */
import type { ReceivedEvent } from "./event-client.js"

/** A saved state of a thread. */
export interface HistoryEntry {
  readonly checkpointId: string
  /** Null: the first one. */
  readonly parentId: string | null
  readonly step: number
  /** `input`: the one that an input made. */
  readonly source: string
  readonly runId: string
  readonly attempt: number
}

export interface RunFacts {
  readonly runId: string
  /** The id of its input's message. */
  readonly messageId: string
  readonly status: string
  /** What clients read that asked for it again and again, in order. */
  readonly statuses: readonly string[]
  /** The error that its stream ended with. */
  readonly error: string | undefined
  /** What the client that created it received. */
  readonly stream: readonly ReceivedEvent[]
  /** What a second client received, which followed it from its beginning. */
  readonly follower: readonly ReceivedEvent[]
  /** Its log, as each server tells it when all is calm. */
  readonly logs: readonly (readonly ReceivedEvent[])[]
}

export interface ThreadFacts {
  /** Names the conversation: `r3c1` is the second one of round 3. */
  readonly name: string
  readonly graph: string
  readonly threadId: string
  /** The acknowledged runs, in the order of their requests. */
  readonly runs: readonly RunFacts[]
  /** The ids of all runs of the thread, whoever asked for them. */
  readonly allRunIds: readonly string[]
  /** Oldest first. */
  readonly history: readonly HistoryEntry[]
  /** Whether older entries were not read. */
  readonly isHistoryCut: boolean
  /** The ids of checkpoints that clients read while it was attacked, oldest first, one list for each time they asked. */
  readonly reads: readonly (readonly string[])[]
  readonly status: string
  readonly values: unknown
  /** Replies that no client should get, and what was not known in time. */
  readonly faults: readonly string[]
}
