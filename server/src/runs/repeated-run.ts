/** A request for a stream or a result that came before: its run is there already, and is joined instead. */
import { Conflict } from "@superstep/toolkit/errors/errors"
import type { Answer } from "../idempotency/answers.js"
import type { RunIdentity } from "./creating-routes.js"
import type { Runs } from "./operations.js"
import { findRun } from "./queries.js"

/**
 * Who may ask was decided when the run was made: the key is that of the same caller.
 * @throws Conflict  nothing of the run is left, as of a stateless one that is over
 */
export async function repeatedRun(
  { db }: Pick<Runs, "db">,
  { body, headers }: Answer,
): Promise<{ run: RunIdentity; headers: Record<string, string> }> {
  const run = JSON.parse(body) as RunIdentity
  if (!(await findRun(db, run.thread_id, run.run_id))) throw new Conflict(gone(run.run_id), "run_gone")
  const { "content-location": location = "" } = headers
  return { run, headers: { "content-location": location, "idempotent-replayed": "true" } }
}

const gone = (runId: string) =>
  `this request has created run ${runId} before, and nothing of it is left: on_completion "keep" keeps a stateless one`
