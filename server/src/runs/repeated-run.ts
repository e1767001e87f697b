/** A repeated request for a stream or a result: its run already exists, and is joined. */
import { Conflict } from "@superstep/toolkit/errors/errors"
import { parseJson } from "@superstep/toolkit/http/json"
import type { Answer } from "../idempotency/answers.js"
import type { RunIdentity } from "./creating-routes.js"
import type { Runs } from "./operations.js"
import { findRun } from "./queries.js"

/**
 * Finds the run of a repeated request. Access was checked when the run was created: the key belongs to the same caller.
 * @throws Conflict  no trace of the run is left. It is not created again: a late retry would undo a rollback that removed it.
 */
export async function repeatedRun(
  { db }: Pick<Runs, "db">,
  { body, headers }: Answer,
): Promise<{ run: RunIdentity; headers: Record<string, string> }> {
  const run = parseJson(body) as RunIdentity
  if (!(await findRun(db, run.thread_id, run.run_id))) throw new Conflict(gone(run.run_id), "run_gone")
  const { "content-location": location = "" } = headers
  return { run, headers: { "content-location": location, "idempotent-replayed": "true" } }
}

const gone = (runId: string) =>
  `this request has created run ${runId} before, and nothing of it is left: it was removed, by a rollback for instance, or it was ` +
  'stateless and has ended (on_completion "keep" keeps such a run). Send it under a new key to run it again'
