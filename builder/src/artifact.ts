/** Names an artifact by everything that goes into it, so that the same input is never built twice. Pure. */
import { createHash } from "node:crypto"
import type { BuildPlan } from "./project/build-step.js"

// Part of every artifact's name: raise it when a change of the builder changes its output.
const builderVersion = 2

/**
 * @param deploymentId  artifacts belong to one deployment: only its unprivileged user may read them
 * @param treeHash      hash of the source
 * @param platform      Node's version, system and architecture: compiled packages depend on all three
 */
export function artifactId(input: {
  readonly deploymentId: string
  readonly treeHash: string
  readonly configPath: string
  readonly plan: BuildPlan
  readonly platform: string
}): string {
  const { deploymentId, treeHash, configPath, plan, platform } = input
  const parts = [builderVersion, deploymentId, treeHash, configPath, plan.steps, platform]
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, 40)
}
