/** The settings of a deployment that its revisions are made with. Pure. */

export const sources = ["github", "external_docker", "internal_docker", "internal_source", "internal_template"] as const
export type Source = (typeof sources)[number]

export const deploymentTypes = ["dev_free", "dev", "prod", "dev_zero", "dev_free_zero"] as const
export type DeploymentType = (typeof deploymentTypes)[number]

/**
 * Which threads stay on their revision after a switch. `none`: none. `paused`: those that are busy or interrupted at the
 * switch, until they are idle. `always`: each thread stays on the revision of its first run.
 */
export const threadPinnings = ["none", "paused", "always"] as const
export type ThreadPinning = (typeof threadPinnings)[number]
export const usualThreadPinning: ThreadPinning = "paused"
export const usualPinDays = 30

/**
 * What to do when a new revision could not go on with threads that are paused. `warn`: say how many. `pin`: they stay on the revision
 * before, also where `thread_pinning` is `none`. `fail`: the new revision fails, and nothing changes.
 */
export const orphanRules = ["warn", "pin", "fail"] as const
export type OrphanRule = (typeof orphanRules)[number]

/** Unknown keys are kept: Terraform merges what it reads into what it writes (control-plane §1.3). */
export type ResourceSpec = Readonly<Record<string, unknown>>

/** `source_config` in the API and in the table: settings of the whole deployment. */
export interface SourceConfig {
  readonly integration_id: string | null
  readonly repo_url: string | null
  readonly deployment_type: DeploymentType | null
  readonly build_on_push: boolean | null
  /** As set by the user; replies show the address that works (D3). */
  readonly custom_url: string | null
  readonly resource_spec: ResourceSpec | null
  readonly listener_id: string | null
  readonly listener_config: { readonly k8s_namespace: string | null } | null
  readonly install_command: string | null
  readonly build_command: string | null
  readonly template_id: string | null
  /** Our extension: a push that changes one of these files and folders creates a revision; null or empty means all. */
  readonly watch_paths: readonly string[] | null
  /** Our extension: which threads stay on their revision when another one takes over; null: `usualThreadPinning`. */
  readonly thread_pinning: ThreadPinning | null
  /** Our extension: for at most how many days; null: `usualPinDays`. */
  readonly max_pin_age_days: number | null
  /** Our extension: what to do about paused threads that a new revision could not go on with; null: `warn`. */
  readonly on_orphaned_threads: OrphanRule | null
  /** Our extension: the percentage of the threads that a new revision gets before it is promoted; null: all of them at once. */
  readonly canary_weight: number | null
  /** Our extension: a canary whose runs fail more often is aborted once it has ended so many; null: none is. */
  readonly rollback_on: { readonly min_runs: number } | null
}
