/**
 * What a listener and its control plane send to each other (README.md, "The exchange"). Both sides check it with these
 * schemas, and drop what they do not know, so that they may be of different releases. Pure.
 */
import { z } from "@hono/zod-openapi"
import { healths, runStates } from "../../health/health.js"
import { text, uuid } from "../../http/fields.js"
import { logLevels, logStreams } from "../../logs/log-line.js"
import { revisionStatuses, stages } from "../../revisions/revision.js"
import { type SourceConfig, sources } from "../../revisions/source-config.js"
import type { SourceRevisionConfig } from "../../revisions/source-revision-config.js"

/** Headers of every call: whose installation it is, and its release. */
export const homeHeader = "x-superstep-home"
export const versionHeader = "x-superstep-version"

/** The longest time that a request for work waits at the control plane, in milliseconds. */
export const longestWaitMs = 25_000

/** Most deployments in one reply; others follow in the next. */
export const mostInReply = 20

export const workRequest = z.object({
  /** The version of each deployment that was carried out last. */
  known: z.record(uuid, z.string().max(100)),
  /** That of the callers' keys. */
  known_callers: z.string().max(100),
  wait_ms: z.int().min(0).max(longestWaitMs),
})
export type WorkRequest = z.infer<typeof workRequest>

const revisionSpec = {
  source: z.enum(sources),
  source_config: z.custom<SourceConfig>((value) => typeof value === "object" && value !== null),
  source_revision_config: z.custom<SourceRevisionConfig>((value) => typeof value === "object" && value !== null),
  secrets_version: z.int(),
}

const wantedRevision = z.object({
  ...revisionSpec,
  revision_id: uuid,
  trigger: z.enum(["create", "patch", "api", "push", "redeploy", "rollback", "preview"]),
  actor: z.string().nullable(),
  repeats_revision_id: z.string().nullable(),
  /** Former releases do not send it. */
  message: z.string().nullable().default(null),
  /** It has not ended, as far as the control plane knows. */
  is_unfinished: z.boolean(),
  is_active: z.boolean(),
  is_interrupted: z.boolean(),
  /** Of its code, when that was uploaded. */
  archive: z.object({ upload_id: uuid, sha256: z.string(), size_bytes: z.number() }).nullable(),
})
export type WantedRevision = z.infer<typeof wantedRevision>

const wantedIntegration = z.object({
  integration_id: uuid,
  name: z.string(),
  host: z.string(),
  auth: z.enum(["token", "ssh_key"]),
  username: z.string().nullable(),
  /** The token or the private key. */
  secret: z.string(),
  ssh_public_key: z.string().nullable(),
  known_hosts: z.string().nullable(),
})
export type WantedIntegration = z.infer<typeof wantedIntegration>

const wantedDeployment = z.object({
  ...revisionSpec,
  deployment_id: uuid,
  version: z.string(),
  name: z.string(),
  display_name: z.string().nullable(),
  desired_run_state: z.enum(["running", "paused"]),
  restart_generation: z.number(),
  is_deleted: z.boolean(),
  integration: wantedIntegration.nullable(),
  /** Oldest first. */
  revisions: z.array(wantedRevision),
  /** In clear text, of all versions that are named above. */
  secrets: z.array(z.object({ version: z.int(), name: z.string(), value: z.string() })),
})
export type WantedDeployment = z.infer<typeof wantedDeployment>

export const workReply = z.object({
  workspace_id: uuid,
  /** SHA-256 of the keys that may call the agents; null when they are as the request says. */
  callers: z.object({ version: z.string(), run: z.array(z.string()), read: z.array(z.string()) }).nullable(),
  /** All deployments of the listener. */
  assigned: z.array(uuid),
  /** Those whose version is not the known one. */
  changed: z.array(wantedDeployment),
})
export type WorkReply = z.infer<typeof workReply>

const reportedRevision = z.object({
  revision_id: uuid,
  status: z.enum(revisionStatuses),
  stage: z.enum(stages).nullable(),
  commit_sha: text.max(200).nullable(),
  commit: z.object({ sha: text, message: text, author: text }).nullable(),
  stage_started_at: z.partialRecord(z.enum(stages), z.iso.datetime({ offset: true })),
  error_code: text.max(100).nullable(),
  status_message: text.max(20_000).nullable(),
  orphaned_threads: z.int().nullable(),
  pinned_threads: z.int(),
  started_at: z.iso.datetime({ offset: true }).nullable(),
  finished_at: z.iso.datetime({ offset: true }).nullable(),
})

const reportedLine = z.object({
  log_line_id: z.int(),
  revision_id: uuid,
  stream: z.enum(logStreams),
  time: z.iso.datetime(),
  level: z.enum(logLevels),
  message: text,
  run_id: uuid.nullable(),
})
export type ReportedLine = z.infer<typeof reportedLine>

/** All that is known of a deployment: a later report replaces an earlier one. */
const deploymentState = z.object({
  is_ready: z.boolean(),
  url: z
    .url({ protocol: /^https?$/ })
    .max(2000)
    .nullable(),
  active_revision_id: uuid.nullable(),
  health: z.enum(healths).nullable(),
  run_state: z.enum(runStates).nullable(),
  is_restarting: z.boolean(),
  problem: text.max(2000).nullable(),
  is_gone: z.boolean(),
  revisions: z.array(reportedRevision).max(50),
})
export type DeploymentState = z.infer<typeof deploymentState>

export const reportRequest = z.object({
  deployment_id: uuid,
  /** The number of the report that this one follows. */
  after: z.int(),
  state: deploymentState,
  /** Those after the last one that is stored, oldest first. */
  lines: z.array(reportedLine).max(1000),
})
export type ReportRequest = z.infer<typeof reportRequest>

export const reportReply = z.object({
  /** False when the report did not follow the last one: read the state again, and send it after `reports`. */
  is_accepted: z.boolean(),
  reports: z.int(),
  log_line_id: z.int(),
})
export type ReportReply = z.infer<typeof reportReply>
