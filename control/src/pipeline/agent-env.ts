/** The environment of a revision's user code: what `langgraph.json` sets, overlaid by the deployment's secrets. */
import type { ClaimedRevision } from "../revisions/claims.js"
import { secretsOfRevision } from "../secrets/operations.js"
import type { PipelineContext } from "./context.js"

/** @param fromConfig  the `env` mapping of `langgraph.json` */
export async function agentEnvOf(
  { db, key }: Pick<PipelineContext, "db" | "key">,
  revision: Pick<ClaimedRevision, "revision_id">,
  fromConfig: Readonly<Record<string, string>>,
): Promise<Record<string, string>> {
  return { ...fromConfig, ...(await secretsOfRevision(db, key, revision)) }
}
