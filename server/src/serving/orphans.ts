/** Finds paused threads that could not continue with this server's graphs. */

import { setTimeout as sleep } from "node:timers/promises"
import type { Orphans } from "@superstep/protocol/unit/replies"
import { KnownError, Unavailable } from "@superstep/toolkit/errors/errors"
import { parsedJson } from "@superstep/toolkit/http/json"
import { anyone } from "../auth/caller.js"
import { getThreadState, newestState, type ThreadStates } from "../threads/state-operations.js"
import { findInterruptedThreads, isStillPaused } from "./queries.js"

const mostChecked = 200
const mostMs = 10_000
const atOnce = 4
const shown = 5

/**
 * A paused thread waits in a node. It is an orphan if its graph no longer exists, its state does not load, or the graph has no next node
 * for that state. Threads that are pinned stay on their revision and are not checked.
 */
export async function findOrphans(states: ThreadStates): Promise<Orphans> {
  const threadIds = await findInterruptedThreads(states.db, mostChecked + 1)
  const waiting = threadIds.slice(0, mostChecked)
  const deadline = performance.now() + mostMs
  const orphans: { thread_id: string; reason: string }[] = []
  let checked = 0
  const check = async () => {
    for (let id = waiting.shift(); id !== undefined && performance.now() < deadline; id = waiting.shift()) {
      const found = await look(states, id)
      // It was answered or deleted meanwhile, or no worker answers.
      if (found === "unknown" || (found !== "fine" && !(await isStillPaused(states.db, id)))) continue
      checked++
      if (found !== "fine") orphans.push({ thread_id: id, reason: found.reason })
    }
  }
  const checks = Promise.all(Array.from({ length: atOnce }, check))
  await Promise.race([checks, sleep(mostMs, undefined, { ref: false })])
  return {
    checked,
    orphaned: orphans.length,
    examples: orphans.slice(0, shown),
    is_complete: checked === threadIds.length,
  }
}

/** @returns `unknown` when no worker responds */
async function look(states: ThreadStates, threadId: string): Promise<"fine" | "unknown" | { reason: string }> {
  try {
    const asked = { ...newestState, subgraphs: false, select: ["next"] }
    const state = await getThreadState(states, anyone, threadId, asked)
    const { next = [] } = parsedJson(state) as { next?: string[] }
    return next.length > 0 ? "fine" : { reason: "its graph has no node to go on with" }
  } catch (error) {
    if (!(error instanceof KnownError)) throw error
    return error instanceof Unavailable ? "unknown" : { reason: error.message }
  }
}
