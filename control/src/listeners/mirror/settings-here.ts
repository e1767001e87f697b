/**
 * Configs of the control plane as they are stored here. They are written as received: the control plane has made them for an installation
 * like this one, and fields that no listener has are none of the message. Pure.
 */
import type { WantedSourceConfig, WantedSourceRevisionConfig } from "@superstep/protocol/listener/messages"
import { InvalidInput } from "@superstep/toolkit/errors/errors"
import { problemsOf } from "@superstep/toolkit/http/problems"
import { emptySourceConfig, emptySourceRevisionConfig } from "../../deployments/deployment.js"
import { resourceSpecReply } from "../../revisions/resource-spec.js"
import type { SourceConfig } from "../../revisions/source-config.js"
import type { SourceRevisionConfig } from "../../revisions/source-revision-config.js"

/** @throws InvalidInput  its `resource_spec` is none */
export const settingsHere = ({
  resource_spec: spec,
  watch_paths: paths,
  ...config
}: WantedSourceConfig): SourceConfig => ({
  ...emptySourceConfig,
  ...config,
  watch_paths: paths ? [...paths] : null,
  resource_spec: spec ? resourcesHere(spec) : null,
})

export const codeHere = (config: WantedSourceRevisionConfig): SourceRevisionConfig => ({
  ...emptySourceRevisionConfig,
  ...config,
})

function resourcesHere(spec: object): SourceConfig["resource_spec"] {
  const result = resourceSpecReply.safeParse(spec)
  if (result.success) return result.data
  throw new InvalidInput(problemsOf(result.error.issues.slice(0, 1), spec, ["source_config", "resource_spec"]))
}
