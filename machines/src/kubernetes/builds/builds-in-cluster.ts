/** Builds as Jobs that run in the base image: planned for what it has inside, with our programs and the source as layers on top of it. */
import { fileURLToPath } from "node:url"
import type { InstalledNodes } from "@superstep/builder/installed-nodes"
import { planSource } from "@superstep/builder/plan-source"
import type { InstalledPythons } from "@superstep/builder/python/pythons"
import type { ImageSenderOptions } from "@superstep/oci/registry/image-sender"
import { type RuntimePrograms, runtimeFiles } from "@superstep/oci/runtime-files"
import type { BuildLimits } from "@superstep/protocol/build/request"
import type { Inside } from "../../parts/images/base-fit.js"
import { inside } from "../cluster/manifests.js"
import { type JobBuilds, type JobBuildsOptions, jobBuilds } from "./job-builds.js"
import { jobRequest } from "./job-request.js"
import { sourceImages } from "./source-images.js"

const buildEntry = fileURLToPath(import.meta.resolve("@superstep/builder/job/job-main"))

export interface BuildsInClusterOptions
  extends Omit<JobBuildsOptions, "planFor" | "requestFor" | "sendSource" | "limits">,
    Omit<ImageSenderOptions, "runtime" | "store"> {
  readonly limits: BuildLimits
  /** What the base image has. */
  readonly there: Inside
  readonly programs: RuntimePrograms
  readonly environment: NodeJS.ProcessEnv
  /** Of this computer, for layers on their way. */
  readonly folder: string
}

export async function buildsInCluster(options: BuildsInClusterOptions): Promise<JobBuilds> {
  const { there, programs, limits } = options
  const runtime = await runtimeFiles({ ...programs, builder: buildEntry })
  const place = {
    ...programsIn(there),
    toolsBeside: async () => new Set(there.tools),
    user: undefined,
    runsAt: inside.app,
  }
  const jobPrograms = {
    limits,
    environment: { ...options.environment, PATH: there.path },
    verifyEntry: await runtime.placeOf(programs.verify),
    verifyPython: await runtime.placeOf(programs.verifyPython),
  }
  return jobBuilds({
    ...options,
    planFor: (tree, source) => planSource(tree, source, place),
    requestFor: (source, plan) => jobRequest(source, plan, jobPrograms),
    sendSource: sourceImages({ ...options, runtime, entry: await runtime.placeOf(buildEntry) }),
  })
}

/** The base image has one Node, on which our programs run too. */
export const programsIn = ({
  execPath,
  node,
  pythons,
}: Inside): { nodes: InstalledNodes; pythons: InstalledPythons } => ({
  nodes: { own: { path: execPath, version: node }, others: async () => [] },
  pythons: { found: async () => [...pythons] },
})
