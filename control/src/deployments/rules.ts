/** What each source requires and forbids, beyond the format of single fields (D7–D10). Pure. */
import { InvalidInput, type Problem, Refused } from "@superstep/toolkit/errors/errors"
import { toJsonText } from "@superstep/toolkit/http/json"
import { namesWhere } from "../revisions/field.js"
import { type GitProtocol, repoUrlProblem } from "../revisions/repository.js"
import { type ResourceSpec, type Source, type SourceConfig, sourceConfigFields } from "../revisions/source-config.js"
import type { SourceRevisionConfig } from "../revisions/source-revision-config.js"
import type { Partially } from "./deployment.js"

const inSourceConfig = (field: keyof SourceConfig, message: string, type = "value_error"): Problem => ({
  path: ["body", "source_config", field],
  message,
  type,
})

const inRevisionConfig = (field: keyof SourceRevisionConfig, message: string, type = "value_error"): Problem => ({
  path: ["body", "source_revision_config", field],
  message,
  type,
})

const required = "this field is required"

/** The required fields that locate the code, by source; `internal_*` sources get theirs later. */
function missing(source: Source, config: SourceConfig, revision: SourceRevisionConfig): Problem[] {
  switch (source) {
    case "github":
      return [
        ...(config.repo_url ? [] : [inSourceConfig("repo_url", required, "missing")]),
        ...(revision.repo_ref ? [] : [inRevisionConfig("repo_ref", required, "missing")]),
        ...(revision.langgraph_config_path ? [] : [inRevisionConfig("langgraph_config_path", required, "missing")]),
      ]
    case "external_docker":
      return [
        ...(revision.image_uri ? [] : [inRevisionConfig("image_uri", required, "missing")]),
        ...(config.resource_spec ? [] : [inSourceConfig("resource_spec", required, "missing")]),
      ]
    case "internal_template":
      return config.template_id ? [] : [inSourceConfig("template_id", required, "missing")]
    case "internal_docker":
    case "internal_source":
      return []
  }
}

function misplaced(source: Source, config: SourceConfig, revision: SourceRevisionConfig): Problem[] {
  const isImage = source === "external_docker" || source === "internal_docker"
  return [
    ...(config.repo_url && source !== "github" ? [inSourceConfig("repo_url", "is only for github sources")] : []),
    ...(revision.repo_ref && source !== "github" ? [inRevisionConfig("repo_ref", "is only for github sources")] : []),
    ...(config.listener_id && typeof config.canary_weight === "number"
      ? [inSourceConfig("canary_weight", "a deployment of a listener has no canaries")]
      : []),
    ...(revision.image_uri && !isImage ? [inRevisionConfig("image_uri", "is only for sources that are images")] : []),
  ]
}

/** A tag does not move, so no push could change it (control-plane §3.5). */
const pushOnTag = (config: SourceConfig, revision: SourceRevisionConfig): Problem[] =>
  config.build_on_push && revision.repo_ref?.startsWith("refs/tags/")
    ? [inSourceConfig("build_on_push", "must be false when repo_ref is a tag")]
    : []

/**
 * @throws InvalidInput  with every problem at once
 * @throws Refused       what the original answers with 400 (CP-D14)
 */
export function checkSource(
  source: Source,
  config: SourceConfig,
  revision: SourceRevisionConfig,
  gitProtocols: readonly GitProtocol[],
): void {
  const urlProblem = config.repo_url ? repoUrlProblem(config.repo_url, gitProtocols) : undefined
  const problems = [
    ...missing(source, config, revision),
    ...misplaced(source, config, revision),
    ...(urlProblem ? [inSourceConfig("repo_url", urlProblem)] : []),
    ...pushOnTag(config, revision),
  ]
  if (problems.length > 0) throw new InvalidInput(problems)
  if (source !== "external_docker") return
  // Which threads a revision executes is decided in its agent server, and that of a ready-made image is somebody else's.
  for (const field of ["deployment_type", "canary_weight"] as const)
    if (config[field] !== null)
      throw new Refused(`${field} does not apply to external_docker deployments: leave it out`)
}

/**
 * A new `resource_spec` replaces the stored one as a whole. A caller that sends only one end of the scale still relies on
 * the other end, so that one is compared too.
 * @throws InvalidInput  `min_scale` is above `max_scale`
 */
export function checkScale(sent: ResourceSpec | null | undefined, stored: ResourceSpec | null = null): void {
  const low = sent?.min_scale ?? stored?.min_scale
  const high = sent?.max_scale ?? stored?.max_scale
  if (typeof low !== "number" || typeof high !== "number" || low <= high) return
  const hasLow = typeof sent?.min_scale === "number"
  const hasHigh = typeof sent?.max_scale === "number"
  if (!hasLow && !hasHigh) return
  const words = hasLow ? `${low} is above max_scale, which is ${high}` : `${high} is below min_scale, which is ${low}`
  const message = hasLow && hasHigh ? words : `${words}: send both`
  const path = ["body", "source_config", "resource_spec", hasLow ? "min_scale" : "max_scale"]
  throw new InvalidInput([{ path, message, type: "value_error" }])
}

/**
 * An archive belongs to one deployment (U4), so a new deployment has none yet.
 * @throws Refused
 */
export function checkNoTarball(wanted: Partially<SourceRevisionConfig>): void {
  if (!wanted.source_tarball_path) return
  const next = "create the deployment first, request an address with POST …/upload-url, then PATCH the deployment"
  throw new Refused(`source_tarball_path is not an object_path of this deployment: ${next}`, "unknown_upload")
}

const fixed = namesWhere(sourceConfigFields, ({ patch }) => patch === "fixed")

/** @throws Refused  a field that is fixed at creation would change; its present value is accepted */
export function checkUnchanged(current: SourceConfig, change: Partially<SourceConfig>): void {
  for (const field of fixed) {
    const wanted = change[field]
    if (wanted === null || wanted === undefined) continue
    if (toJsonText(wanted) === toJsonText(current[field])) continue
    throw new Refused(`source_config.${field} cannot be changed after creation: create another deployment`, "immutable")
  }
}
