/**
 * Retries workers' calls while the database is unavailable. The graph that made the call only waits longer; without this, a
 * restart of Postgres would end every run in flight with an error.
 *
 * A call may take effect twice, since it may have committed before the connection was lost: the handlers' writes are fenced, and
 * repeating them leaves the same rows (checkpoints C1, C4). The wait is bounded elsewhere: a run whose claim was lost gets
 * `ClaimLost`, and a call to a graph has its own time limit.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { DatabaseUnavailable, StatementTooSlow } from "@superstep/toolkit/db/unavailable"
import type { CallHandlers, CallReply } from "./calls.js"

// Short enough that a restart of Postgres delays a run little, long enough that the retries do not slow its start.
const retryDelayMs = 200

/** Wraps handlers so that each retries until the database answers. */
export const retryWhileDatabaseIsAway = (handlers: CallHandlers): CallHandlers =>
  Object.fromEntries(
    Object.entries(handlers).map(([method, handler]) => [method, untilAnswered(handler as AnyHandler)]),
  )

type AnyHandler = (...call: unknown[]) => Promise<CallReply>

const untilAnswered =
  (handler: AnyHandler): AnyHandler =>
  async (...call) => {
    for (;;) {
      try {
        return await handler(...call)
      } catch (error) {
        // What took too long once is not asked for again and again: the graph gets the error.
        if (!(error instanceof DatabaseUnavailable) || error instanceof StatementTooSlow) throw error
        await sleep(retryDelayMs)
      }
    }
  }
