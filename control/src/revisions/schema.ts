/** What a revision looks like in a reply. */
import { z } from "@hono/zod-openapi"
import type { RevisionRow } from "./queries.js"
import type { SourceRevisionConfig } from "./revision.js"

export const sourceRevisionConfigReply = z.object({
  repo_ref: z.string().nullable(),
  langgraph_config_path: z.string().nullable(),
  graph_config_path: z.string().nullable(),
  image_uri: z.string().nullable(),
  source_tarball_path: z.string().nullable(),
  repo_commit_sha: z.string().nullable(),
})

export const revisionReply = z
  .object({
    id: z.string(),
    deployment_id: z.string(),
    status: z.string(),
    source: z.string(),
    source_revision_config: sourceRevisionConfigReply,
    trigger: z.string(),
    error_code: z.string().nullable(),
    status_message: z.string().nullable(),
    commit: z.object({ sha: z.string(), message: z.string(), author: z.string() }).nullable(),
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
    started_at: z.iso.datetime().nullable(),
    finished_at: z.iso.datetime().nullable(),
  })
  .openapi("Revision")

/** Both spellings of the config path: clients of the seed read one, the CLIs the other (CP-D4). */
export const renderSourceRevisionConfig = (config: SourceRevisionConfig, commitSha: string | null) => ({
  ...config,
  graph_config_path: config.langgraph_config_path,
  repo_commit_sha: commitSha ?? config.repo_commit_sha,
})

export const renderRevision = (row: RevisionRow): z.input<typeof revisionReply> => ({
  id: row.revision_id,
  deployment_id: row.deployment_id,
  status: row.status,
  source: row.source,
  source_revision_config: renderSourceRevisionConfig(row.source_revision_config, row.commit_sha),
  trigger: row.trigger,
  error_code: row.error_code,
  status_message: row.status_message,
  commit: row.commit,
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
  started_at: row.started_at?.toISOString() ?? null,
  finished_at: row.finished_at?.toISOString() ?? null,
})
