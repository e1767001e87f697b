/** What happens when a cron is due: its next due time and its run are written together (CR1). */
import { Conflict, KnownError, NotFound, Unavailable } from "@superstep/toolkit/errors/errors"
import { parseJson } from "@superstep/toolkit/http/json"
import { onBehalfOf } from "../auth/caller.js"
import { createRun } from "../runs/creation.js"
import type { Runs } from "../runs/operations.js"
import type { NewRunBody } from "../runs/schema.js"
import type { CronRow } from "./cron.js"
import { type DueCron, disableCron, findDueCron, findNeeds, takeDueTime } from "./queries.js"
import { nextRunDate } from "./schedule.js"

/** Another server has fired the cron, or a client changed it at this moment. */
class DueTimeTaken extends Conflict {}

// A client would have to change the cron this often within some milliseconds each. Then the cron fires as it was read last.
const maxReads = 5

/**
 * Fires a cron once for its due time, however many servers try (CR1), and however many due times were missed (CR2).
 * If a client changes the cron meanwhile, it fires as the client has changed it (CR8).
 * A cron whose run cannot be created is skipped until it is due again; if it can never be created, the cron is disabled (CR4).
 * @throws Unavailable  or an unknown error: the due time stays, to be tried again
 */
export async function fireCron(runs: Runs, cron: DueCron): Promise<void> {
  const { db, claimer } = runs
  let current: DueCron | undefined = cron
  for (let reads = 1; current && reads <= maxReads; reads++) {
    const version = reads < maxReads ? current.version : undefined
    if (await fireAsRead(runs, current, version)) return
    current = await findDueCron(db, claimer.revisionId, current)
  }
}

/** @returns false when the due time could not be taken: it is no longer due, or it has another version */
async function fireAsRead(runs: Runs, cron: DueCron, version: string | undefined): Promise<boolean> {
  const { db, log, claimer } = runs
  const next = cron.is_over ? null : nextRunDate(cron, cron.now)
  const firing = { cronId: cron.cron_id, due: cron.due, version, next, revisionId: claimer.revisionId }
  if (cron.is_over) return takeDueTime(db, firing)
  try {
    const run = await createRun(runs, {
      // Access was checked when the cron was created; a later change of the rules does not stop it.
      caller: onBehalfOf(cron.created_by === null ? undefined : parseJson(cron.created_by)),
      threadId: cron.thread_id ?? undefined,
      body: bodyOf(cron),
      within: (insert) =>
        db.transaction(async (tx) => {
          if (!(await takeDueTime(tx, firing))) throw new DueTimeTaken("taken")
          return insert(tx)
        }),
    })
    log.info({ cron_id: cron.cron_id, run_id: run.run_id, thread_id: run.thread_id }, "cron created a run")
  } catch (error) {
    if (error instanceof DueTimeTaken) return false
    if (!(error instanceof KnownError) || error instanceof Unavailable) throw error
    // If the run was rejected before it was inserted, the due time has not been taken yet.
    if (!(await takeDueTime(db, firing))) return false
    await skip(runs, cron, error)
  }
  return true
}

async function skip({ db, log }: Runs, cron: DueCron, error: KnownError): Promise<void> {
  const reason = error instanceof NotFound ? await lostNeed(db, cron) : undefined
  if (reason !== undefined) await disableCron(db, cron.cron_id, reason)
  const what = reason === undefined ? "a cron was skipped once" : "a cron was disabled"
  log.warn({ cron_id: cron.cron_id, code: error.code, detail: reason ?? error.message }, what)
}

/** Why a cron can never fire again; undefined when it may, for example when this revision could not load its graph. */
async function lostNeed(db: Runs["db"], cron: DueCron): Promise<string | undefined> {
  const { hasAssistant, hasThread } = await findNeeds(db, cron)
  if (!hasAssistant) return `the assistant ${cron.assistant_id} does not exist any more`
  if (!hasThread) return `the thread ${cron.thread_id} does not exist any more`
  return undefined
}

/** The body of the run: the cron's payload, in the form of the route that creates runs. */
export function bodyOf(cron: CronRow): NewRunBody {
  const payload = parseJson(cron.payload)
  const metadata = { ...payload.metadata, cron_id: cron.cron_id }
  const completion = cron.on_run_completed === null ? {} : { on_completion: cron.on_run_completed }
  return { ...payload, ...completion, assistant_id: cron.assistant_id, metadata }
}
