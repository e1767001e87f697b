/**
 * Brings what a build prints from its machine into `log_lines`. The offset that was read is stored in the same transaction as the lines,
 * so a killed control plane leaves neither a hole nor a repeat.
 */

import type { BuildLogs } from "@superstep/machines/port/port"
import type { NewLogLine } from "../logs/log-line.js"
import { appendLogLines } from "../logs/operations.js"
import { storeSomehow } from "../logs/store-somehow.js"
import type { PipelineContext } from "../planner/context.js"
import { hideSecretsOf, keepWithin } from "../planner/log-shipping.js"
import { type ClaimedRevision, holdClaim, recordBuildLog } from "../revisions/claims.js"
import type { StageInput } from "./stage.js"

/** Adds our own words to the build's log. */
export async function logBuild(
  { context, revision }: Pick<StageInput, "context" | "revision">,
  lines: readonly (string | NewLogLine)[],
): Promise<void> {
  await context.db.transaction(async (tx) => {
    await holdClaim(tx, revision)
    await appendLogLines(tx, revision.revision_id, "build", lines)
  })
}

/** @returns  `next` is where the next reading begins: the same as `from` when there was nothing new */
export async function shipBuildLog(
  context: PipelineContext,
  revision: ClaimedRevision,
  from: number,
): Promise<Omit<BuildLogs, "lines">> {
  const { lines, ...rest } = await context.machine.builds.logs(revision.revision_id, from)
  const { next } = rest
  if (next === from) return rest
  // The build process has hidden the secrets, line by line; this finds those that span lines.
  const hide = await hideSecretsOf(context, revision)
  const store = (parsed: readonly NewLogLine[]) =>
    context.db.transaction(async (tx) => {
      await recordBuildLog(tx, revision, next)
      return appendLogLines(tx, revision.revision_id, "build", parsed, { hide })
    })
  const bytes = await storeSomehow(store, [() => lines, () => lines.map(({ message }) => ({ message }))], context.log)
  await keepWithin(context, revision, bytes)
  return rest
}
