/**
 * Writes missing end events, for which clients would wait forever (B3). A server may die after it committed a run's status and before the
 * event log has the end. And a run that nobody follows has no log: a client may read that it executes, and follow its thread after its end.
 */
import type { Db } from "@superstep/toolkit/db/database"
import type { Log } from "@superstep/toolkit/log/log"
import type { Streams } from "../events/streams.js"
import {
  findUnloggedEnds,
  findUnloggedEndsOfThreads,
  type UnloggedEnd,
  type UnloggedEndOfThread,
} from "./end-queries.js"

interface Announcing {
  readonly db: Db
  readonly streams: Streams
}

export class OverdueEnds {
  /** Runs whose log is tailed here, and runs of followed threads, that were over without an end in the log at the last call. */
  #over = new Set<string>()

  /**
   * Announces the ends of such runs that were already over without an end at the last call: the server that executed
   * them had all that time to write it. Call it regularly.
   */
  async announceMissingEnds({ db, streams, log }: Announcing & { readonly log: Log }): Promise<void> {
    const tailed = streams.runs.tailed().map(({ id }) => id)
    const [threadIds, protocol] = [streams.threads.ids(), streams.protocol.ids()]
    const over = [
      ...(tailed.length === 0 ? [] : await findUnloggedEnds(db, tailed)),
      ...(threadIds.length + protocol.length === 0 ? [] : await findUnloggedEndsOfThreads(db, { threadIds, protocol })),
    ]
    const overdue = over.filter(({ runId }) => this.#over.has(runId))
    this.#over = new Set(over.map(({ runId }) => runId))
    for (const end of overdue) {
      log.info({ run_id: end.runId, promise: "D13" }, "the end of a run is announced in place of its server")
      await announce(streams, end)
    }
  }
}

/**
 * Announces the end of a thread's newest run, if it is missing in the thread's log. Call it when a client follows the thread: from then on
 * runs are logged. The sweep finds a run that ends at this moment.
 */
export async function announceMissedEnd(
  { db, streams }: Announcing,
  threadId: string,
  { forProtocol }: { readonly forProtocol: boolean },
): Promise<void> {
  const asked = forProtocol ? { protocol: [threadId] } : { threadIds: [threadId] }
  for (const end of await findUnloggedEndsOfThreads(db, asked)) {
    // One that executed here is about to write its end itself.
    if (!streams.isExecuting(end.runId)) await announce(streams, end)
  }
}

function announce(streams: Streams, end: UnloggedEnd | UnloggedEndOfThread): Promise<void> {
  const { runId, status, error, inputSaved, threadId } = end
  const left = "left" in end ? (end.left ?? undefined) : undefined
  const isUnsaved = inputSaved === false
  return streams.announceEnd(runId, status, {
    error: error ?? undefined,
    threadId: threadId ?? undefined,
    isUnsaved,
    left: left && { values: left.values ?? undefined, interrupts: left.interrupts },
  })
}
