/**
 * What a listener's installation and its control plane send to each other; `listener/README.md` describes it.
 * Generated from `protocol/listener/exchange.schema.json` by `npm run generate -w protocol`; a test compares them.
 * Long on purpose: it is printed from one schema.
 */

export type Uuid =
  | string

/** A text that can be stored: without U+0000 and half surrogate pairs. */
export type Text =
  | string

/** A short text, such as an id or a code. */
export type Word =
  | string

export type Count =
  | number

/** The number of a line or a report. */
export type SequenceNumber =
  | number

/** ISO 8601 with an offset. Days that a month lacks are refused, so that Postgres reads every value. */
export type Time =
  | string

/** Asks what is not as the caller knows it. */
export interface WorkRequest {
  /** By id: the version of each deployment that was carried out last. */
  readonly known: Readonly<Record<string, Word>>
  /** The version of the callers' keys. */
  readonly known_callers: Word
  /** How long the request may wait until something has changed. */
  readonly wait_ms: number
}

/** What is wanted, as far as the caller does not know it. */
export interface WorkReply {
  readonly workspace_id: Uuid
  /** Null when they are as the request says. */
  readonly callers: Callers | null
  /** All deployments of the listener. */
  readonly assigned: readonly Uuid[]
  /** Those whose version is not the known one; more follow with the next reply. */
  readonly changed: readonly WantedDeployment[]
}

/** SHA-256 of the keys that may call the agents, and of those that may only read. */
export interface Callers {
  readonly version: Word
  readonly run: readonly Word[]
  readonly read: readonly Word[]
}

export type Source =
  | "github" | "external_docker" | "internal_docker" | "internal_source" | "internal_template"

/** The whole wanted state of a deployment. */
export interface WantedDeployment {
  readonly deployment_id: Uuid
  readonly version: Word
  readonly name: Text
  readonly display_name: Text | null
  readonly source: Source
  readonly source_config: WantedSourceConfig
  readonly source_revision_config: WantedSourceRevisionConfig
  readonly secrets_version: Count
  readonly desired_run_state: "running" | "paused"
  readonly restart_generation: Count
  readonly is_deleted: boolean
  readonly integration: WantedIntegration | null
  /** Oldest first. */
  readonly revisions: readonly WantedRevision[]
  /** In clear text, of all versions that are named above. */
  readonly secrets: readonly WantedSecret[]
}

export interface WantedSecret {
  readonly version: Count
  readonly name: Text
  readonly value: Text
}

/** The credentials for a host of repositories. */
export interface WantedIntegration {
  readonly integration_id: Uuid
  readonly name: Text
  readonly host: Text
  readonly auth: "token" | "ssh_key"
  readonly username: Text | null
  /** The token or the private key. */
  readonly secret: Text
  readonly ssh_public_key: Text | null
  readonly known_hosts: Text | null
}

export interface WantedRevision {
  readonly revision_id: Uuid
  readonly source: Source
  readonly source_config: WantedSourceConfig
  readonly source_revision_config: WantedSourceRevisionConfig
  readonly secrets_version: Count
  readonly trigger: "create" | "patch" | "api" | "push" | "redeploy" | "rollback" | "preview"
  readonly actor: Text | null
  readonly repeats_revision_id: Uuid | null
  /** Former releases do not send it. */
  readonly message?: Text | null
  /** It has not ended, as far as the control plane knows. */
  readonly is_unfinished: boolean
  readonly is_active: boolean
  readonly is_interrupted: boolean
  /** Of its code, when that was uploaded. */
  readonly archive: WantedArchive | null
}

export interface WantedArchive {
  readonly upload_id: Uuid
  readonly sha256: Word
  readonly size_bytes: number
}

/** The settings that a deployment has at its listener. A field that is absent is null: releases before it do not send it. */
export interface WantedSourceConfig {
  readonly integration_id?: Uuid | null
  readonly repo_url?: Text | null
  readonly deployment_type?: "dev_free" | "dev" | "prod" | "dev_zero" | "dev_free_zero" | null
  readonly custom_url?: Text | null
  readonly resource_spec?: ResourceSpec | null
  readonly install_command?: Text | null
  readonly build_command?: Text | null
  readonly template_id?: Text | null
  readonly watch_paths?: readonly Text[] | null
  readonly thread_pinning?: "none" | "paused" | "always" | null
  readonly max_pin_age_days?: Count | null
  readonly on_orphaned_threads?: "warn" | "pin" | "fail" | null
  readonly rollback_on?: RollbackRule | null
}

export interface RollbackRule {
  readonly min_runs: Count
}

/** As its caller gave it to the control plane, with the fields that no release knows; the listener's installation checks the known ones as its own API does. */
export type ResourceSpec =
  | Readonly<Record<string, unknown>>

/** What a revision is made from, at its listener. A field that is absent is null. */
export interface WantedSourceRevisionConfig {
  readonly repo_ref?: Text | null
  readonly langgraph_config_path?: Text | null
  readonly image_uri?: Text | null
  readonly source_tarball_path?: Text | null
  readonly repo_commit_sha?: Text | null
  readonly commit?: GivenCommit | null
}

/** The commit of an archive or an image, as its caller says. */
export interface GivenCommit {
  readonly sha: Text
  readonly message: Text
  readonly author: Text
  readonly branch: Text | null
  readonly is_dirty: boolean
}

/** The state of a deployment, and its new log lines. */
export interface ReportRequest {
  readonly deployment_id: Uuid
  /** The number of the report that this one follows. */
  readonly after: SequenceNumber
  readonly state: DeploymentState
  /** Those after the last one that is stored, oldest first. */
  readonly lines: readonly ReportedLine[]
}

/** All that is known of a deployment: a later report replaces an earlier one. */
export interface DeploymentState {
  readonly is_ready: boolean
  readonly url: WebAddress | null
  readonly active_revision_id: Uuid | null
  readonly health: "healthy" | "crashing" | "starting" | "down" | "asleep" | "paused" | null
  readonly run_state: "running" | "asleep" | "paused" | null
  readonly is_restarting: boolean
  readonly problem: Problem | null
  readonly is_gone: boolean
  readonly revisions: readonly ReportedRevision[]
}

/** An http or https address. */
export type WebAddress =
  | string

/** Why the installation cannot carry it out. */
export type Problem =
  | string

export interface ReportedRevision {
  readonly revision_id: Uuid
  readonly status: "CREATING" | "QUEUED" | "AWAITING_BUILD" | "BUILDING" | "AWAITING_DEPLOY" | "DEPLOYING" | "CREATE_FAILED" | "BUILD_FAILED" | "DEPLOY_FAILED" | "DEPLOYED" | "SKIPPED" | "INTERRUPTED" | "UNKNOWN"
  readonly stage: Stage | null
  readonly commit_sha: Word | null
  readonly commit: ReportedCommit | null
  readonly stage_started_at: StageTimes
  readonly error_code: ErrorCode | null
  readonly status_message: StatusMessage | null
  readonly orphaned_threads: Count | null
  readonly pinned_threads: Count
  readonly started_at: Time | null
  readonly finished_at: Time | null
}

export type Stage =
  | "queue" | "fetch" | "build" | "deploy" | "switch" | "verify"

/** When each stage began. */
export interface StageTimes {
  readonly queue?: Time
  readonly fetch?: Time
  readonly build?: Time
  readonly deploy?: Time
  readonly switch?: Time
  readonly verify?: Time
}

export type ErrorCode =
  | string

export type StatusMessage =
  | string

export interface ReportedCommit {
  readonly sha: Text
  readonly message: Text
  readonly author: Text
}

export interface ReportedLine {
  readonly log_line_id: SequenceNumber
  readonly revision_id: Uuid
  readonly stream: "build" | "deploy"
  readonly time: Time
  readonly level: "DEBUG" | "INFO" | "WARNING" | "ERROR" | "CRITICAL"
  readonly message: Text
  readonly run_id: Uuid | null
  /** The thread of that run. Listeners of earlier releases say neither this nor `is_platform`. */
  readonly thread_id?: Uuid | null
  /** Superstep wrote the line, not the code of the deployment. */
  readonly is_platform?: boolean
}

/** Where the reports of a deployment stand. */
export interface ReportReply {
  /** False when the report did not follow the last one: read the state again, and send it after `reports`. */
  readonly is_accepted: boolean
  readonly reports: SequenceNumber
  readonly log_line_id: SequenceNumber
}
