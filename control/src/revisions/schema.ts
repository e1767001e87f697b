/** What a revision looks like in a reply. */
import { z } from "@hono/zod-openapi"
import { healthOf, healths } from "../pipeline/health.js"
import type { SeenRevision } from "./queries.js"
import { type SourceRevisionConfig, type Stage, stages } from "./revision.js"

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
    actor: z.string().nullable().openapi({ description: "who asked for it; null when the platform did" }),
    repeats_revision_id: z.string().nullable().openapi({ description: "what a redeploy or rollback brought back" }),
    health: z
      .enum(healths)
      .nullable()
      .openapi({ description: "what a caller would see of it now; null when it does not serve" }),
    duration_ms_by_stage: z.record(z.string(), z.int()),
    error_code: z.string().nullable(),
    status_message: z.string().nullable(),
    commit: z.object({ sha: z.string(), message: z.string(), author: z.string() }).nullable(),
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
    started_at: z.iso.datetime().nullable(),
    finished_at: z.iso.datetime().nullable(),
  })
  .openapi("Revision")

// The id of an archive's content is no commit (sources/port.ts).
const commitOnly = (id: string | null): string | null => (id?.startsWith("sha256:") ? null : id)

/** Both spellings of the config path: clients of the seed read one, the CLIs the other (CP-D4). */
export const renderSourceRevisionConfig = (config: SourceRevisionConfig, commitSha: string | null) => ({
  ...config,
  graph_config_path: config.langgraph_config_path,
  repo_commit_sha: commitOnly(commitSha ?? config.repo_commit_sha),
})

const ms = (at: string): number => new Date(at).getTime()

/** How long each stage took that has ended, from its first beginning to that of the next. Pure. */
function durationsByStage(
  startedAt: Readonly<Partial<Record<Stage, string>>>,
  finishedAt: Date | null,
): Record<string, number> {
  const begun = stages.flatMap((stage) => (startedAt[stage] === undefined ? [] : [{ stage, at: ms(startedAt[stage]) }]))
  const durations = begun.flatMap(({ stage, at }, index) => {
    const end = begun[index + 1]?.at ?? finishedAt?.getTime()
    return end === undefined || end < at ? [] : [[stage, Math.round(end - at)] as const]
  })
  return Object.fromEntries(durations)
}

export const renderRevision = (row: SeenRevision): z.input<typeof revisionReply> => ({
  id: row.revision_id,
  deployment_id: row.deployment_id,
  status: row.status,
  source: row.source,
  source_revision_config: renderSourceRevisionConfig(row.source_revision_config, row.commit_sha),
  trigger: row.trigger,
  actor: row.actor,
  repeats_revision_id: row.repeats_revision_id,
  health: healthOf(row.health_facts),
  duration_ms_by_stage: durationsByStage(row.stage_started_at, row.finished_at),
  error_code: row.error_code,
  status_message: row.status_message,
  commit: row.commit,
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
  started_at: row.started_at?.toISOString() ?? null,
  finished_at: row.finished_at?.toISOString() ?? null,
})
