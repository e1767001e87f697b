/** The format of a revision in a reply. */
import { z } from "@hono/zod-openapi"
import { errorAddress } from "@superstep/toolkit/errors/explain"
import { healthOf, healths } from "../health/health.js"
import { type ListenerFacts, messageSeen, stateAtListener } from "../health/listener-facts.js"
import { repliesOf, shownOf } from "./field.js"
import type { SeenRevision } from "./queries.js"
import { resourceSpecReply } from "./resource-spec.js"
import { type Stage, stages } from "./revision.js"
import { type SourceRevisionConfig, sourceRevisionConfigFields } from "./source-revision-config.js"

export const sourceRevisionConfigReply = z.object({
  ...repliesOf(sourceRevisionConfigFields),
  graph_config_path: z.string().nullable(),
})

export const revisionReply = z
  .object({
    id: z.string(),
    deployment_id: z.string(),
    status: z.string(),
    source: z.string(),
    source_revision_config: sourceRevisionConfigReply,
    trigger: z.string(),
    actor: z.string().nullable().openapi({ description: "who requested it; null for the platform itself" }),
    repeats_revision_id: z
      .string()
      .nullable()
      .openapi({ description: "the revision that a redeploy or rollback repeats" }),
    health: z
      .enum(healths)
      .nullable()
      .openapi({ description: "what a caller of it would get now; null when it does not serve" }),
    pinned_threads: z.int().openapi({
      description: "number of threads that stay on it although another revision took over; counted up to 10,000",
    }),
    orphaned_threads: z.int().nullable().openapi({
      description: "paused threads that it could not go on with, of the newest 200; null before its switch",
    }),
    traffic: z
      .object({
        weight: z.int().openapi({ description: "the percentage of the threads that it gets" }),
        runs: z
          .object({ ended: z.int(), failed: z.int() })
          .nullable()
          .openapi({ description: "since the canary got threads; null while there is none" }),
      })
      .nullable()
      .openapi({ description: "null when it gets no threads but those that are pinned to it" }),
    resource_spec: resourceSpecReply.nullable(),
    secrets_version: z.int().openapi({ description: "rises with each change of the deployment's secrets" }),
    secret_names: z.array(z.string()),
    duration_ms_by_stage: z.record(z.string(), z.int()),
    error_code: z.string().nullable(),
    error_doc_url: z
      .string()
      .nullable()
      .openapi({ description: "where error_code is explained: its cause and the next step" }),
    status_message: z.string().nullable(),
    message: z.string().nullable().openapi({
      description:
        "what it is for, as its caller says; a redeploy or rollback without a message has that of the repeated revision",
    }),
    commit: z
      .object({
        sha: z.string(),
        message: z.string().openapi({ description: "its first line" }),
        author: z.string(),
        branch: z.string().nullable(),
        is_dirty: z.boolean().openapi({ description: "whether the code has changes beside the commit" }),
      })
      .nullable()
      .openapi({ description: "of the repository; of uploaded code and of an image, what their caller says" }),
    upload: z
      .object({
        sha256: z.string(),
        size_bytes: z.int(),
        uploaded_at: z.iso.datetime(),
      })
      .nullable()
      .openapi({ description: "the archive that it is made from; null for other sources" }),
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
    started_at: z.iso.datetime().nullable(),
    finished_at: z.iso.datetime().nullable(),
  })
  .openapi("Revision")

// The hash of an archive's content is no commit (sources/port.ts).
const commitOnly = (id: string | null): string | null => (id?.startsWith("sha256:") ? null : id)

/** Both spellings of the config path: clients of the seed read one, the CLIs the other (CP-D4). */
export const renderSourceRevisionConfig = (config: SourceRevisionConfig, commitSha: string | null) => ({
  ...shownOf(sourceRevisionConfigFields, config),
  graph_config_path: config.langgraph_config_path,
  repo_commit_sha: commitOnly(commitSha ?? config.repo_commit_sha),
})

/** Null for a tag and for a commit's id. Pure. */
const branchOf = (ref: string | null): string | null =>
  ref === null || /^refs\/tags\/|^[0-9a-f]{40,64}$/.test(ref) ? null : ref.replace(/^refs\/heads\//, "")

/** Pure. */
function commitOf({ commit, source_revision_config: config }: SeenRevision) {
  if (commit) return { ...commit, branch: branchOf(config.repo_ref), is_dirty: false }
  return config.commit ?? null
}

const ms = (at: string): number => new Date(at).getTime()

/** How long each finished stage took, from its first start to the start of the next. Pure. */
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

/** What a revision gets of the deployment's threads: all, unless there is a canary. Pure. */
function trafficOf({ role, weight, canary_weight: ofCanary, runs_ended: ended, runs_failed: failed }: SeenRevision) {
  const runs = ofCanary === null ? null : { ended, failed }
  // A canary at 100 takes over within the next second or two.
  if (role === "canary") return { weight: weight ?? 100, runs }
  return role === "serving" ? { weight: 100 - (ofCanary ?? 0), runs } : null
}

/** Only of the revision that serves there. Pure. */
const healthAtListener = ({ is_active }: SeenRevision, listener: ListenerFacts) =>
  is_active ? stateAtListener(listener, "running").health : null

export const renderRevision = (row: SeenRevision): z.input<typeof revisionReply> => ({
  id: row.revision_id,
  deployment_id: row.deployment_id,
  status: row.status,
  source: row.source,
  source_revision_config: renderSourceRevisionConfig(row.source_revision_config, row.commit_sha),
  trigger: row.trigger,
  actor: row.actor,
  repeats_revision_id: row.repeats_revision_id,
  health: row.listener ? healthAtListener(row, row.listener) : healthOf(row.health_facts),
  pinned_threads: row.pinned_threads,
  orphaned_threads: row.orphaned_threads,
  traffic: trafficOf(row),
  resource_spec: row.source_config.resource_spec,
  secrets_version: row.secrets_version,
  secret_names: [...row.secret_names],
  duration_ms_by_stage: durationsByStage(row.stage_started_at, row.finished_at),
  error_code: row.error_code,
  error_doc_url: row.error_code && errorAddress(row.error_code),
  status_message: messageSeen(row, row.listener),
  message: row.message,
  commit: commitOf(row),
  upload: row.upload && { ...row.upload, uploaded_at: new Date(row.upload.uploaded_at).toISOString() },
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
  started_at: row.started_at?.toISOString() ?? null,
  finished_at: row.finished_at?.toISOString() ?? null,
})
