/** Pairs of requests at the same moment, on two servers without workers. */
import { randomUUID } from "node:crypto"
import { sql } from "@superstep/toolkit/db/sql"
import {
  type Answer,
  BetweenStatements,
  type Interleavings,
  interleave,
  type Request,
  type Share,
  type TwoProcesses,
} from "@superstep/toolkit/testing/interleavings"
import { until } from "@superstep/toolkit/testing/until"
import { renewServer } from "../servers/queries.js"
import type { Reply } from "../workers/port.js"
import { type OpenStream, startTestHttp, type TestHttp } from "./test-http.js"
import { serverDatabase } from "./test-server.js"

export interface TwoServers extends TwoProcesses<TestHttp> {
  /** A server without a process, whose lease goes on. */
  readonly holder: string
}

/** As `interleave` of the toolkit. */
export async function interleaveServers<Subject>(
  interleavings: Interleavings<TwoServers, TestHttp, Subject>,
  most: Share,
) {
  await using db = await serverDatabase()
  const place = new BetweenStatements()
  const options = { slots: 0, graphs: ["agent"], eventSweepMs: 100 }
  await using first = await startTestHttp(db, {
    ...options,
    wrapDb: (own) => place.database(own),
    within: (request) => place.within(request),
  })
  await using second = await startTestHttp(db, options)
  for (const { server } of [first, second]) server.workers.answer = async () => updated()
  const holder = randomUUID()
  await renewServer(db, { serverId: holder, revisionId: null, leaseMs: 3_600_000 }, { freeSlots: 0, freeSoloSlots: 0 })
  return await interleave(interleavings, { db, first, second, place, holder }, most)
}

let lastCheckpoint = 0
/** A worker's answer when a thread's state is updated. */
function updated(): Reply {
  const at = {
    checkpoint_ns: "",
    checkpoint_id: `1f000000-0000-6000-8000-${String(++lastCheckpoint).padStart(12, "0")}`,
  }
  return {
    fields: { checkpoint: at, puts: [{ ...at, blobs: [] }] },
    payload: ['{"updated":true}', "{}", "{}", "{}"].map((line) => Buffer.from(line)),
  }
}

/** @param keep  what counts of an answer that is no error; of an error its code counts */
export const call =
  <Subject, Json>(
    method: string,
    path: (on: Subject) => string,
    { body, keep }: { body?: (on: Subject, by: string) => object; keep?: (json: Json) => unknown } = {},
  ): Request<TestHttp, Subject> =>
  async (http, on, by) => {
    const { status, json } = await http.send(method, path(on), body?.(on, by))
    if (status >= 300) return [status, (json as { code?: string } | undefined)?.code]
    return [status, keep?.(json as Json)]
  }

// Many sweeps, and less than the time after which a server renews what its clients follow, which would hide an end that was missed.
const timeoutMs = 30_000

/**
 * A stream of a thread, or of one of its runs: once both requests are answered, whether it ended although what it follows goes on. If that is
 * over, the stream must end; one that waits for its thread to be created follows nothing yet.
 */
export function opened(
  { server }: TestHttp,
  followed: { threadId: string; runId?: string },
  stream: OpenStream,
): Answer {
  const { status, ended, leave } = stream
  if (status !== 200) return [status]
  const { threadId, runId } = followed
  let hasEnded = false
  const end = () => {
    hasEnded = true
  }
  void ended.then(end, end)
  const { threads, protocol, runs } = server.streams
  const follows = () => (runId ? runs.has(runId) : threads.has(threadId) || protocol.has(threadId))
  const isCutOff = async () => {
    const goesOn = await server.db.row(
      runId
        ? sql`select from runs where run_id = ${runId} and status in ('pending', 'running')`
        : sql`select from threads where thread_id = ${threadId}`,
    )
    if (goesOn) await until(() => hasEnded || follows(), { what: "the stream follows, or has ended" })
    else await until(() => hasEnded || !follows(), { what: "the stream ends with what it follows", timeoutMs })
    leave()
    return goesOn !== undefined && hasEnded
  }
  return [status, isCutOff]
}
