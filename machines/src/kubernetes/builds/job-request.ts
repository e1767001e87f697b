/** The request that the program in a build's pod reads: as for a build on this computer, with the places of its containers. Pure. */

import type { BuildRequest } from "@superstep/builder/build-request"
import { buildEnvironment } from "@superstep/builder/environment"
import { inJob } from "@superstep/builder/job/job-places"
import type { Plan } from "@superstep/builder/plan-source"
import type { BuildLimits } from "@superstep/protocol/build/request"
import type { BuildSource } from "../../port/port.js"
import { inside } from "../cluster/manifests.js"

export interface JobPrograms {
  readonly limits: BuildLimits
  /** Ours, with the PATH of the base image: builds get a few of its variables. */
  readonly environment: NodeJS.ProcessEnv
  /** Programs of the build's image. */
  readonly verifyEntry: string
  readonly verifyPython: string
}

export function jobRequest(source: BuildSource, plan: Plan, place: JobPrograms): BuildRequest {
  const { node, note } = plan.choice
  const { limits, environment, verifyEntry, verifyPython } = place
  const { home, cache, tree } = inJob
  return {
    tree,
    configPath: source.configPath,
    artifactFolder: inJob.artifact,
    runsAt: inside.app,
    home,
    plan: plan.plan,
    environment: buildEnvironment({ base: environment, execPath: node.path, home, cache }),
    packageCache: cache,
    platform: plan.platform,
    node,
    notes: note === undefined ? [] : [note],
    limits,
    verifyEntry,
    verifyPython,
    // The pod has one user; other deployments have other pods.
    user: null,
    reader: null,
  }
}
