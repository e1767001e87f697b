/** Why a waiting run does not start yet, as a reason for programs and a sentence for people. Pure. */

export const waitReasons = [
  "scheduled",
  "thread_busy",
  "thread_order",
  "other_revision",
  "needs_own_worker",
  "no_free_slot",
  "starting",
] as const
export type WaitReason = (typeof waitReasons)[number]

/** What the database knows about a waiting run. */
export interface WaitFacts {
  readonly is_due: boolean
  readonly not_before: Date
  /** The run that executes on the same thread. */
  readonly thread_runs: string | null
  /** The run of the same thread that was requested before and waits too. */
  readonly thread_waits: string | null
  readonly runs_alone: boolean
  /** The revision to which the thread is pinned. */
  readonly revision_id: string | null
}

/** The server that answers. */
export interface ServerRoom {
  readonly revisionId: string | null
  readonly freeSlots: number
  readonly freeSoloSlots: number
}

export interface Wait {
  readonly reason: WaitReason
  readonly message: string
  /** The run that must end first. */
  readonly run_id: string | null
  /** When the run becomes due, for `scheduled`. */
  readonly until: Date | null
}

/** The first condition in the order in which claiming checks them (R3, R6, R9). */
export function waitOf(facts: WaitFacts, room: ServerRoom): Wait {
  const because = (reason: WaitReason, message: string, more: Partial<Wait> = {}): Wait => ({
    reason,
    message,
    run_id: null,
    until: null,
    ...more,
  })
  if (!facts.is_due) {
    const at = facts.not_before.toISOString()
    return because("scheduled", `It was asked to start at ${at}, and not before.`, { until: facts.not_before })
  }
  if (facts.thread_runs !== null) {
    const message = `Another run executes on its thread, and a thread has one running run: ${facts.thread_runs}.`
    return because("thread_busy", message, { run_id: facts.thread_runs })
  }
  if (facts.thread_waits !== null) {
    const message = `A run of its thread is due before it and waits too: ${facts.thread_waits}.`
    return because("thread_order", message, { run_id: facts.thread_waits })
  }
  if (facts.revision_id !== null && room.revisionId !== null && facts.revision_id !== room.revisionId) {
    const message = `Its thread is pinned to revision ${facts.revision_id}, and only that revision executes it.`
    return because("other_revision", message)
  }
  if (facts.runs_alone) {
    if (room.freeSoloSlots > 0) return because("starting", "A worker is free. It starts in a moment.")
    const message = "A worker died while executing it, so it needs a worker of its own, and all of those are in use."
    return because("needs_own_worker", message)
  }
  if (room.freeSlots > 0) return because("starting", "A worker is free. It starts in a moment.")
  return because(
    "no_free_slot",
    "All workers of this server are busy: it starts when one of their runs ends, or when another server claims it.",
  )
}
