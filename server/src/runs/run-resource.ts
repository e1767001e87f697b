/** A run as clients see it. */
import { RawJson, rawJson } from "@superstep/toolkit/http/json"
import type { RunRow } from "./queries.js"
import type { RunField } from "./schema.js"

/** A Run resource. It shows the reason of a stop only if the run was stopped, not if it ended before the stop. */
export const renderRun = (row: RunRow) => ({
  run_id: row.run_id,
  thread_id: row.thread_id,
  assistant_id: row.assistant_id,
  created_at: row.created_at,
  updated_at: row.updated_at,
  status: row.status,
  metadata: new RawJson(row.metadata),
  kwargs: new RawJson(row.kwargs),
  multitask_strategy: row.multitask_strategy,
  attempt: row.attempt,
  error: rawJson(row.error),
  cancel_reason: row.status === "interrupted" ? row.cancel_reason : null,
  input_saved: row.status === "success" ? true : row.input_saved,
})

/** Only the requested fields. */
export const renderSelected = (row: RunRow, select: readonly RunField[] | undefined): object => {
  const run = renderRun(row)
  return select === undefined ? run : Object.fromEntries(select.map((field) => [field, run[field]]))
}
