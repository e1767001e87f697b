/** Renders a deployment as a reply. Pure. */
import type { z } from "@hono/zod-openapi"
import { healthOf, isRestarting, runStateOf } from "../health/health.js"
import { type ListenerFacts, stateAtListener } from "../health/listener-facts.js"
import { shownOf } from "../revisions/field.js"
import { renderSourceRevisionConfig } from "../revisions/schema.js"
import { sourceConfigFields } from "../revisions/source-config.js"
import { masked } from "../secrets/secret.js"
import { type DeploymentStatus, publicUrl } from "./deployment.js"
import type { DeploymentRow } from "./queries.js"
import type { deploymentReply } from "./schema.js"

/**
 * @param agentsUrl  the public address of the edge; the deployment answers below it from its first DEPLOYED on (D3)
 */
export const renderDeployment = (row: DeploymentRow, agentsUrl: string): z.input<typeof deploymentReply> => ({
  id: row.deployment_id,
  tenant_id: row.workspace_id,
  name: row.name,
  display_name: row.display_name,
  source: row.source,
  source_config: {
    ...shownOf(sourceConfigFields, row.source_config),
    custom_url:
      row.source_config.custom_url ?? (row.listener ? row.listener.url : publicUrl(agentsUrl, row.route_name)),
    // The configured branch, apart from the commit it resolved to; Terraform's imports read it (§1.3).
    repo_branch: row.source === "github" ? row.source_revision_config.repo_ref : null,
  },
  source_revision_config: renderSourceRevisionConfig(
    row.latest_revision_config ?? row.source_revision_config,
    row.latest_commit_sha,
  ),
  secrets: masked(row.secret_names),
  secret_references: [],
  status: statusSeen(row.status, row.listener),
  latest_revision_id: row.latest_revision_id,
  active_revision_id: row.active_revision_id,
  image_version: null,
  is_preview: row.is_preview,
  agent_id: row.agent_id,
  agent_environment: row.agent_environment,
  ...(row.listener ? stateAtListener(row.listener, row.desired_run_state) : stateHere(row)),
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
})

const stateHere = ({ health_facts: facts }: DeploymentRow) => ({
  run_state: runStateOf(facts),
  health: healthOf(facts),
  is_restarting: isRestarting(facts),
})

/** Changes with each change by a caller, not with the pipeline's progress (D6). */
export const etagOf = (row: DeploymentRow): string => `"${row.version}"`

/** A silent listener's deployment may be in any state. */
const statusSeen = (status: DeploymentStatus, listener: ListenerFacts | null): DeploymentStatus =>
  listener?.is_silent && status === "READY" ? "UNKNOWN" : status
