/** Names an artefact by everything that goes into it, so that the same input is never built twice. Pure. */
import { createHash } from "node:crypto"
import type { BuildPlan } from "./plan.js"

// Part of every artefact's name: raise it when the way of building changes what comes out.
const builderVersion = 1

/**
 * @param deploymentId  artefacts belong to one deployment: its unprivileged user, and no other, may read them
 * @param treeHash      of the source
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
