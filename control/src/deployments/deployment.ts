/** Defines a deployment: its sources, statuses and settings, and how a change is merged into them. Pure. */

import { createHash } from "node:crypto"
import { withoutEnd } from "@superstep/toolkit/text/without-end"
import { emptyOf, namesWhere } from "../revisions/field.js"
import { type ResourceSpec, type Source, type SourceConfig, sourceConfigFields } from "../revisions/source-config.js"
import { type SourceRevisionConfig, sourceRevisionConfigFields } from "../revisions/source-revision-config.js"

/** READY means that the deployment's database is ready; it says nothing of its revisions (control-plane §1.5). */
export const deploymentStatuses = [
  "AWAITING_DATABASE",
  "READY",
  "UNUSED",
  "AWAITING_DELETE",
  "AWAITING_FINAL_DELETE",
  "UNKNOWN",
] as const
export type DeploymentStatus = (typeof deploymentStatuses)[number]

/** A config as a caller may send it: every field may be absent, and null means the same as absent. */
export type Partially<T> = { readonly [K in keyof T]?: T[K] | undefined }

export const emptySourceConfig: SourceConfig = emptyOf(sourceConfigFields)

export const emptySourceRevisionConfig: SourceRevisionConfig = emptyOf(sourceRevisionConfigFields)

/** Merges a change into a config: null and absent fields stay as they are, so null clears nothing (§1.4). */
export function overlay<T extends object>(current: T, change: Partially<T>): T {
  const given = Object.entries(change).filter(([, value]) => value !== null && value !== undefined)
  return { ...current, ...Object.fromEntries(given) }
}

/** Returns whether a change sets any field. */
export const setsAnyField = (change: object | undefined): boolean =>
  Object.values(change ?? {}).some((value) => value !== null && value !== undefined)

/**
 * The revision config that a PATCH asks for, without what described the former code: the commit of an earlier push, since otherwise a
 * new branch would build the old commit; what an earlier caller said about the code; and, when a ref is given, an image or an archive that
 * was sent in between.
 */
export function nextRevisionConfig(
  current: SourceRevisionConfig,
  change: Partially<SourceRevisionConfig>,
): SourceRevisionConfig {
  const isEmptied = {
    never: false,
    by_ref: Boolean(change.repo_ref),
    by_code: Boolean(change.repo_ref || change.image_uri || change.source_tarball_path),
    always: true,
  }
  const dropped = namesWhere(sourceRevisionConfigFields, ({ emptied }) => isEmptied[emptied])
  return overlay({ ...current, ...Object.fromEntries(dropped.map((name) => [name, null])) }, change)
}

/**
 * Returns whether a new deployment has something to build. The two internal sources start empty: their CLIs request a push
 * token or an upload address first and then send a PATCH (control-plane §1.4).
 */
export function startsWithARevision(source: Source, config: SourceRevisionConfig): boolean {
  if (source === "internal_docker") return config.image_uri !== null
  if (source === "internal_source") return config.source_tarball_path !== null
  return true
}

/** The number of units of a deployment. One that may sleep (`min_scale: 0`) has one while it is awake. */
export const replicasOf = ({ resource_spec: spec }: Pick<SourceConfig, "resource_spec">): number =>
  Math.max(1, spec?.min_scale ?? 1)

/** The units of a revision, by its load. Without a `max_scale` there are always as many. */
export function replicaBounds(config: Pick<SourceConfig, "resource_spec">): { least: number; most: number } {
  const least = replicasOf(config)
  return { least, most: Math.max(least, config.resource_spec?.max_scale ?? least) }
}

/** The defaults of the original for a ready-made image (control-plane §1.3); `max_scale` is never below `min_scale`. */
function imageResources(spec: ResourceSpec | null): ResourceSpec {
  return { min_scale: 1, max_scale: replicasOf({ resource_spec: spec }), cpu: 1, memory_mb: 2048, ...spec }
}

/**
 * Adds the defaults that readers expect back (Terraform compares them). Only a ready-made image has an address of its own; for the
 * others we set it (D3).
 */
export function settled(source: Source, config: SourceConfig): SourceConfig {
  if (source === "external_docker") return { ...config, resource_spec: imageResources(config.resource_spec) }
  const build_on_push = config.build_on_push ?? (source === "github" ? false : null)
  return { ...config, deployment_type: config.deployment_type ?? "prod", build_on_push, custom_url: null }
}

export const agentEnvironments = ["development", "staging", "production"] as const
export type AgentEnvironment = (typeof agentEnvironments)[number]

/** The agent that other tools know; it has one deployment per environment (control-plane §1.3). */
export interface Agent {
  readonly id: string
  readonly environment: AgentEnvironment
}

// With `agent-` before it and the longest environment after it, it fits the 63 characters of a name.
const longestSlug = 40

/** The name of a deployment created without one. Where the agent's id does not fit, a hash makes the name unique. */
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

/** A path below the agents' address, unique in the installation. */
export const publicUrl = (agentsUrl: string, routeName: string): string =>
  `${withoutEnd(agentsUrl, "/")}/d/${routeName}`
