/** What a deployment is: its sources, statuses and settings, and how a change is laid over them. Pure. */
import { createHash } from "node:crypto"
import type { SourceRevisionConfig } from "../revisions/revision.js"

export const sources = ["github", "external_docker", "internal_docker", "internal_source", "internal_template"] as const
export type Source = (typeof sources)[number]

export const deploymentTypes = ["dev_free", "dev", "prod", "dev_zero", "dev_free_zero"] as const
export type DeploymentType = (typeof deploymentTypes)[number]

/** READY speaks of the deployment's database, not of its revisions (control-plane §1.5). */
export const deploymentStatuses = [
  "AWAITING_DATABASE",
  "READY",
  "UNUSED",
  "AWAITING_DELETE",
  "AWAITING_FINAL_DELETE",
  "UNKNOWN",
] as const
export type DeploymentStatus = (typeof deploymentStatuses)[number]

/** Keys that we do not know are kept: Terraform merges what it reads into what it writes (control-plane §1.3). */
export type ResourceSpec = Readonly<Record<string, unknown>>

/** `source_config` on the wire and in the table: settings of the whole deployment. */
export interface SourceConfig {
  readonly integration_id: string | null
  readonly repo_url: string | null
  readonly deployment_type: DeploymentType | null
  readonly build_on_push: boolean | null
  /** As set by the user; what readers get is the address that works (D3). */
  readonly custom_url: string | null
  readonly resource_spec: ResourceSpec | null
  readonly listener_id: string | null
  readonly listener_config: { readonly k8s_namespace: string | null } | null
  readonly install_command: string | null
  readonly build_command: string | null
  readonly template_id: string | null
  /** Ours: files and folders whose change makes a push a revision; null or empty means all. */
  readonly watch_paths: readonly string[] | null
}

/** What a caller may send of a config: every field may be absent, and null says the same as absent. */
export type Partially<T> = { readonly [K in keyof T]?: T[K] | undefined }

export const emptySourceConfig: SourceConfig = {
  integration_id: null,
  repo_url: null,
  deployment_type: null,
  build_on_push: null,
  custom_url: null,
  resource_spec: null,
  listener_id: null,
  listener_config: null,
  install_command: null,
  build_command: null,
  template_id: null,
  watch_paths: null,
}

export const emptySourceRevisionConfig: SourceRevisionConfig = {
  repo_ref: null,
  langgraph_config_path: null,
  image_uri: null,
  source_tarball_path: null,
  repo_commit_sha: null,
}

/** Lays a change over a config: null and absent fields stay as they are, so nothing is cleared by null (§1.4). */
export function overlay<T extends object>(current: T, change: Partially<T>): T {
  const given = Object.entries(change).filter(([, value]) => value !== null && value !== undefined)
  return { ...current, ...Object.fromEntries(given) }
}

/** Tells whether a change says anything at all. */
export const saysSomething = (change: object | undefined): boolean =>
  Object.values(change ?? {}).some((value) => value !== null && value !== undefined)

/**
 * The revision config that a PATCH asks for. What pinned the code before is let go: the commit of an earlier push, else
 * a new branch would build the old commit; and, when a ref is named, an image or an archive that was sent in between.
 */
export function nextRevisionConfig(
  current: SourceRevisionConfig,
  change: Partially<SourceRevisionConfig>,
): SourceRevisionConfig {
  const unpinned = { ...current, repo_commit_sha: null }
  const base = change.repo_ref ? { ...unpinned, image_uri: null, source_tarball_path: null } : unpinned
  return overlay(base, change)
}

/**
 * Tells whether creating a deployment gives it something to build. The two internal sources start empty: their
 * CLIs ask for a push token or an upload address first and then PATCH (control-plane §1.4).
 */
export function startsWithARevision(source: Source, config: SourceRevisionConfig): boolean {
  if (source === "internal_docker") return config.image_uri !== null
  if (source === "internal_source") return config.source_tarball_path !== null
  return true
}

const numberOf = (value: unknown): number | undefined => (typeof value === "number" ? value : undefined)

/** How many units a deployment runs in. One that may sleep (`min_scale: 0`) has one while it is awake. */
export const replicasOf = ({ resource_spec: spec }: Pick<SourceConfig, "resource_spec">): number =>
  Math.max(1, numberOf(spec?.min_scale) ?? 1)

/** What the original fills in for a ready-made image (control-plane §1.3); `max_scale` is never below `min_scale`. */
function imageResources(spec: ResourceSpec | null): ResourceSpec {
  const defaults = { min_scale: 1, max_scale: replicasOf({ resource_spec: spec }), cpu: 1, memory_mb: 2048 }
  return { ...defaults, ...spec }
}

/** Fills the defaults in that readers expect back (Terraform compares them). */
function withDefaults(source: Source, config: SourceConfig): SourceConfig {
  if (source === "external_docker") {
    return { ...config, resource_spec: imageResources(config.resource_spec) }
  }
  return {
    ...config,
    deployment_type: config.deployment_type ?? "prod",
    build_on_push: config.build_on_push ?? (source === "github" ? false : null),
  }
}

/** With defaults. Only a ready-made image answers on an address of its own; for the others it is ours to tell (D3). */
export const settled = (source: Source, config: SourceConfig): SourceConfig =>
  withDefaults(source, source === "external_docker" ? config : { ...config, custom_url: null })

export const agentEnvironments = ["development", "staging", "production"] as const
export type AgentEnvironment = (typeof agentEnvironments)[number]

/** The record of an agent that other tools keep; it has one deployment an environment (control-plane §1.3). */
export interface Agent {
  readonly id: string
  readonly environment: AgentEnvironment
}

// With `agent-` before and the longest environment behind, within the 63 characters of a name.
const longestSlug = 40

/** The name of a deployment that came without one. Where the agent's id does not fit into it, a hash tells ids apart. */
export function nameOfAgent(agent: Agent | undefined): string {
  if (!agent) throw new Error("a deployment without an agent has a name")
  const { id, environment } = agent
  const slug = id
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replaceAll(/^-|-$/g, "")
  if (slug === id && slug.length <= longestSlug) return `agent-${slug}-${environment}`
  const hash = createHash("sha256").update(id).digest("hex").slice(0, 8)
  return `agent-${slug.slice(0, longestSlug - 9)}-${hash}-${environment}`.replaceAll(/-{2,}/g, "-")
}

/** A path below the agents' address, one for each deployment of the installation. */
export const publicUrl = (agentsUrl: string, routeName: string): string =>
  `${agentsUrl.replace(/\/+$/, "")}/d/${routeName}`
