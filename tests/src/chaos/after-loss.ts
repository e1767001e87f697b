/**
 * Judges what servers and clients, who had seen more, made of a database that has lost its last seconds. Each finding is a sentence. What
 * was lost is no finding: that it is lost by halves is one.
 */
import type { Database } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import type { ReceivedEvent } from "superstep/prove/event-client"
import { type Conversation, messagesOf, turnName } from "./conversation.js"
import type { Execution, RunFact, ThreadFacts } from "./facts.js"

/** Checkpoints whose parent, or one of whose values, is not there. */
export async function tornCheckpoints(db: Database): Promise<string[]> {
  const rows = await db.rows<{ detail: string }>(sql`
    select format('checkpoint %s of thread %s names a parent that is gone', c.metadata ->> 'step', c.thread_id) as detail
    from checkpoints c
    where c.parent_checkpoint_id is not null and not exists (
      select from checkpoints p where p.thread_id = c.thread_id and p.checkpoint_ns = c.checkpoint_ns
        and p.checkpoint_id = c.parent_checkpoint_id)
    union all
    select format('checkpoint %s of thread %s names a value of %s that is gone', c.metadata ->> 'step', c.thread_id, v.key)
    from checkpoints c cross join jsonb_each_text(c.checkpoint -> 'channel_versions') v
    where not exists (
      select from checkpoint_blobs b where b.thread_id = c.thread_id and b.checkpoint_ns = c.checkpoint_ns
        and b.channel = v.key and b.version = v.value)`)
  return rows.map(({ detail }) => detail)
}

/** Of a thread that is left: each of its runs is over and in the state as a whole, and no stream contradicts its log. */
export function judgeLosses(
  conversation: Conversation,
  facts: ThreadFacts,
  streams: ReadonlyMap<string, readonly ReceivedEvent[]>,
): string[] {
  const expected = JSON.stringify(facts.runs.flatMap((_, turn) => messagesOf(conversation, turn)))
  const state = JSON.stringify(facts.values.messages)
  // An attempt whose claim was lost may be held twice until its server hears of it; then the run gets another one.
  const isLast = (one: Execution) => facts.runs.some((run) => run.runId === one.run_id && run.attempt === one.attempt)
  const executions = facts.executions
    .filter(isLast)
    .map(({ run_id, attempt, step, node }) => `${node} ${step} ${attempt} ${run_id}`)
  return [
    ...(state === expected ? [] : [`${conversation.name}: its state is ${state}`]),
    ...executions
      .filter((one, index) => executions.indexOf(one) !== index)
      .map((one) => `${conversation.name}: executed twice in its last attempt: ${one}`),
    ...facts.runs.flatMap((run, turn) => {
      const log = facts.logs.get(run.runId) ?? []
      const found = [...wrongLog(run, log), ...wrongStream(log, streams.get(run.runId) ?? [])]
      return found.map((detail) => `${turnName(conversation, turn)}: ${detail}`)
    }),
  ]
}

const eventsPerAttempt = 1_000_000_000

function wrongLog({ status, error }: RunFact, log: readonly ReceivedEvent[]): string[] {
  const holes = log.filter(({ id, event }, index) => {
    const isNext = log[index - 1]?.id === id - 1
    return !isNext && !(id % eventsPerAttempt === 0 && event === "metadata")
  })
  return [
    ...(status === "success" ? [] : [`it is ${status}: ${error}`]),
    ...holes.map(({ id }) => `its log has a gap before ${id}`),
  ]
}

/** A client that had read the end before it was lost has left, and knows nothing of the next attempt. */
function wrongStream(log: readonly ReceivedEvent[], stream: readonly ReceivedEvent[]): string[] {
  const kept = new Map(log.map((event) => [event.id, JSON.stringify(event)]))
  const received = new Set(stream.map(({ id }) => id))
  const last = stream.at(-1)
  const hasLeft = last === undefined || (last.event === "end" && !kept.has(last.id))
  return [
    ...stream
      .filter(({ id }, index) => id <= (stream[index - 1]?.id ?? -1))
      .map(({ id }) => `a client got ${id} out of order`),
    ...stream
      .filter((event) => (kept.get(event.id) ?? JSON.stringify(event)) !== JSON.stringify(event))
      .map(({ id }) => `a client got another event ${id} than the log has`),
    ...(hasLeft ? [] : log.filter(({ id }) => !received.has(id)).map(({ id }) => `a client never got ${id}`)),
  ]
}
