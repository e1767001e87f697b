/** What the control plane answers, as far as the pages read it. The whole format is in its /openapi.json. */

export type Health = "healthy" | "crashing" | "starting" | "down" | "asleep" | "paused"

export interface ResourceSpec {
  readonly min_scale?: number | null
  readonly max_scale?: number | null
  readonly cpu?: number | null
  readonly memory_mb?: number | null
  readonly [name: string]: unknown
}

export interface Deployment {
  readonly id: string
  readonly name: string
  readonly source: string
  readonly status: string
  readonly health: Health | null
  readonly run_state: "running" | "asleep" | "paused"
  readonly is_preview: boolean
  readonly latest_revision_id: string | null
  readonly active_revision_id: string | null
  readonly source_config: {
    /** Null until its listener has reported one. */
    readonly custom_url: string | null
    /** Of the listener whose installation it runs in. */
    readonly listener_id: string | null
    readonly repo_url: string | null
    readonly repo_branch: string | null
    readonly integration_id: string | null
    readonly deployment_type: string | null
    readonly build_on_push: boolean | null
    readonly resource_spec: ResourceSpec | null
    readonly canary_weight: number | null
    readonly watch_paths: readonly string[] | null
  }
  readonly created_at: string
  readonly updated_at: string
}

/** Credentials for a git host. */
export interface Integration {
  readonly id: string
  readonly name: string
  readonly host: string
}

export interface Revision {
  readonly id: string
  readonly deployment_id: string
  readonly status: string
  readonly source: string
  readonly trigger: string
  readonly actor: string | null
  readonly repeats_revision_id: string | null
  readonly health: Health | null
  readonly pinned_threads: number
  readonly orphaned_threads: number | null
  readonly traffic: {
    readonly weight: number
    readonly runs: { readonly ended: number; readonly failed: number } | null
  } | null
  readonly duration_ms_by_stage: Readonly<Record<string, number>>
  readonly error_code: string | null
  /** Where the code is explained, such as `docs/errors.md#build_oom`. */
  readonly error_doc_url: string | null
  readonly status_message: string | null
  /** What it is for, as its caller says. */
  readonly message: string | null
  readonly commit: {
    readonly sha: string
    readonly message: string
    readonly author: string
    readonly branch: string | null
    /** Whether the code has changes beside the commit. */
    readonly is_dirty: boolean
  } | null
  /** The uploaded archive that it is made from. */
  readonly upload: { readonly sha256: string; readonly size_bytes: number; readonly uploaded_at: string } | null
  readonly source_revision_config: {
    readonly repo_ref: string | null
    readonly langgraph_config_path: string | null
    readonly image_uri: string | null
    readonly repo_commit_sha: string | null
  }
  readonly resource_spec: ResourceSpec | null
  readonly secrets_version: number
  readonly secret_names: readonly string[]
  readonly created_at: string
  readonly started_at: string | null
  readonly finished_at: string | null
}

/** In milliseconds; null without an answer or a run. */
export interface Latency {
  readonly p50: number | null
  readonly p95: number | null
}

/** What the edge answered, and what models used. */
export interface Activity {
  readonly requests: number
  readonly errors: number
  /** Until an answer began. */
  readonly latency_ms: Latency
  /** Null: not counted, since runs are not traced, or no replica ran. */
  readonly tokens: { readonly input: number; readonly output: number } | null
  /** From when a run could start. */
  readonly first_token_ms: Latency
}

export interface Metrics {
  readonly window_seconds: number
  readonly revisions: readonly {
    readonly revision_id: string
    readonly ended: number
    readonly failed: number
    readonly latency_ms: Latency
  }[]
  readonly total: Activity
  readonly points: readonly MetricsPoint[]
}

export interface MetricsPoint extends Activity {
  readonly at: string
  readonly replicas: number
  readonly ended_runs: number
  readonly failed_runs: number
  readonly pending_runs: number | null
  readonly active_runs: number | null
  readonly cpu_cores: number
  readonly rss_bytes: number
}

/** What differs between the code of two revisions. */
export interface CodeChanges {
  readonly files: readonly ChangedFile[]
  /** How many files differ. */
  readonly total: number
}

export interface ChangedFile {
  readonly path: string
  readonly change: "added" | "removed" | "changed"
  readonly size_before: number | null
  readonly size_after: number | null
  /** Why there is no diff. */
  readonly omitted: "binary" | "too_large" | "secret" | "link" | "limit" | null
  /** Hunks of a unified diff; empty when only the file's mode changed. */
  readonly diff: string | null
}

export interface LogLine {
  readonly id: string
  readonly timestamp: string
  readonly level: "DEBUG" | "INFO" | "WARNING" | "ERROR" | "CRITICAL"
  readonly message: string
  readonly type: "build" | "deploy"
  readonly revision_id: string
  readonly run_id: string | null
  readonly thread_id: string | null
  /** Superstep wrote it, not the code of the deployment. */
  readonly is_platform: boolean
}

export interface PageOf<Item> {
  readonly resources: readonly Item[]
  readonly offset: number
}

/** A person of the workspace. */
export interface Member {
  readonly person_id: string
  readonly name: string
  readonly email: string
  readonly role: string
  /** Groups of the OIDC provider gave the role. */
  readonly by_group: boolean
  readonly signed_in_at: string
}
