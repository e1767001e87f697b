/**
 * Calls that wait for a database which is away. The graph that made one only waits longer: else every run in flight
 * would end in an error because Postgres was restarted.
 *
 * A call may be answered twice over by that, since what a lost connection was committing may be written: the handlers'
 * writes are fenced and leave the same rows when they are repeated (checkpoints C1, C4). Who waits too long for an answer
 * gives up on its own: a run whose lease ended is told `ClaimLost`, and a question to a graph has its own limit.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { DatabaseUnavailable } from "@superstep/toolkit/db/unavailable"
import type { CallHandler, CallHandlers } from "./calls.js"

// Short enough that a restart of Postgres costs a run little, long enough that its start is not held up by attempts.
const retryDelayMs = 200

/** The same handlers, each of which tries again until the database has answered. */
export const patient = (handlers: CallHandlers): CallHandlers =>
  Object.fromEntries(Object.entries(handlers).map(([method, handler]) => [method, untilAnswered(handler)]))

const untilAnswered =
  (handler: CallHandler): CallHandler =>
  async (fields, payload) => {
    for (;;) {
      try {
        return await handler(fields, payload)
      } catch (error) {
        if (!(error instanceof DatabaseUnavailable)) throw error
        await sleep(retryDelayMs)
      }
    }
  }
