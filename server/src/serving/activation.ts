/** Activates a revision, and optionally gives another one a percentage of the threads. */

import { isDeepStrictEqual } from "node:util"
import type { Share } from "@superstep/protocol/unit/replies"
import type { Database } from "@superstep/toolkit/db/database"
import { InvalidInput } from "@superstep/toolkit/errors/errors"
import { z } from "zod"
import type { GraphDefaults } from "../assistants/assistant.js"
import { insertSystemAssistants } from "../assistants/queries.js"
import { type DefaultTtl, setDefaultTtl } from "../threads/sweep-queries.js"
import type { Workers } from "../workers/port.js"
import {
  findPausedThreads,
  findPinnedRevisions,
  findTraffic,
  lockServing,
  notifyServingChanged,
  pinPausedThreads,
  setTraffic,
  threadPinnings,
  unpinThreads,
} from "./queries.js"

export interface Activation {
  readonly db: Database
  readonly workers: Pick<Workers, "report">
  readonly revisionId: string | null
  readonly graphDefaults: Readonly<Record<string, GraphDefaults>>
  readonly defaultTtl: DefaultTtl | undefined
}

/** The body of an activation; it may be empty. */
export const activationRequest = z.strictObject({
  /** A revision that gets a percentage of the threads. Absent: this revision gets all. */
  canary: z.strictObject({ revision_id: z.string().min(1), weight: z.int().min(1).max(99) }).optional(),
  thread_pinning: z.enum(threadPinnings).default("none"),
  /** Revisions whose pins are kept. Pins to others, except to the unit's own, are deleted. Absent: all pins are kept. */
  keep: z.array(z.string()).max(1000).optional(),
})
export type ActivationRequest = z.output<typeof activationRequest>

const defaultRequest: ActivationRequest = { thread_pinning: "none" }

// Small, so that each thread is locked only briefly.
const pinBatchSize = 500

/**
 * Makes this revision the active one: its graphs get their assistants, and new threads get its time to live. From now on it claims
 * the runs of all unpinned threads except the canary's percentage, and no third revision claims any (SV1, SV2). Idempotent.
 * @throws InvalidInput  the canary is this revision
 */
export async function activate(unit: Activation, request: ActivationRequest = defaultRequest): Promise<void> {
  const { db, workers, revisionId, graphDefaults, defaultTtl } = unit
  const { thread_pinning: pinning, keep, canary } = request
  if (canary && canary.revision_id === revisionId)
    throw new InvalidInput([
      { path: ["body", "canary"], message: "a revision cannot be its own canary", type: "value_error" },
    ])
  await insertSystemAssistants(db, workers.report().graphs, graphDefaults)
  if (revisionId === null) {
    await setDefaultTtl(db, defaultTtl)
    return
  }
  const traffic: Share[] = [{ revision_id: revisionId, weight: null }, ...(canary ? [canary] : [])]
  // A thread that the new traffic would not move needs no pin. If the traffic is split, this is not known in advance.
  const next = canary ? null : revisionId
  const pins = pinning !== "none" && !isDeepStrictEqual(await findTraffic(db), traffic)
  if (pins) await pinInSteps(db, next)
  await db.transaction(async (tx) => {
    await setDefaultTtl(tx, defaultTtl)
    await lockServing(tx)
    // Threads that were paused after the batches above.
    if (pins) await pinPausedThreads(tx, next, await findPausedThreads(tx))
    await setTraffic(tx, traffic, pinning)
    if (keep)
      for (const other of await findPinnedRevisions(tx, [...keep, revisionId])) await unpinThreads(tx, other, null)
  })
  await notifyServingChanged(db)
}

/** Runs before the switch. It pins threads to the revision that serves them now, so nothing changes for them yet. */
async function pinInSteps(db: Database, next: string | null): Promise<void> {
  const threadIds = await findPausedThreads(db)
  for (let n = 0; n < threadIds.length; n += pinBatchSize) {
    await pinPausedThreads(db, next, threadIds.slice(n, n + pinBatchSize))
  }
}

/** Deletes all pins to a revision, so that the active one executes its waiting runs. Idempotent. */
export async function unpin(db: Database, revisionId: string): Promise<void> {
  let unpinned = 0
  do {
    unpinned = await unpinThreads(db, revisionId, pinBatchSize)
  } while (unpinned === pinBatchSize)
  await notifyServingChanged(db)
}
