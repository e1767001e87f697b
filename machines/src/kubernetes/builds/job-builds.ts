/**
 * Builds as Jobs of the cluster. A build's name follows from its revision, so every control plane of the installation finds the same Job; what it
 * has published is in the registry. Here are only trees that wait for their build, and for each revision that has one a folder.
 *
 * J1 User code runs in containers without a credential of the platform. J2 A build goes on without us, and is found again. J3 What a build needs
 * (source image, Secret, Job, pod) goes with `remove`, whatever a killed control plane has left of it.
 */
import { mkdir, readdir } from "node:fs/promises"
import { type BuildRequest, checkedRequest } from "@superstep/builder/build-request"
import { secretFiles } from "@superstep/builder/job/job-places"
import type { Plan } from "@superstep/builder/plan-source"
import type { ArtifactStore } from "@superstep/oci/registry/artifact-store"
import type { Credentials } from "@superstep/oci/registry/credentials"
import { isRegistryAway, mayPass } from "@superstep/oci/registry/failures"
import type { Sending } from "@superstep/protocol/build/request"
import { revealAll, type Secrets } from "@superstep/toolkit/config/settings"
import { readJson, writeJson } from "@superstep/toolkit/files/json-file"
import { removeTree } from "@superstep/toolkit/files/remove-tree"
import { sourceTrees } from "../../parts/builds/source-trees.js"
import { type MachineFolders, workFolder } from "../../parts/files/folders.js"
import type { Isolation } from "../../parts/isolation/isolation.js"
import type { BuildLogs, BuildSource, BuildState, Builds } from "../../port/port.js"
import { type Cluster, ClusterFailed } from "../cluster/cluster.js"
import { jobEnds } from "../cluster/job-ends.js"
import type { Owner } from "../cluster/manifests.js"
import { buildPoliciesOf } from "../cluster/network-policies.js"
import { buildNameOf, isOwnedBy, type Job, labels, type Pod, pathsIn } from "../cluster/objects.js"
import type { OwnedObjects } from "../cluster/owned-objects.js"
import { annotations, buildSecretOf, jobOf, startMs } from "./job-manifests.js"
import { jobOutput } from "./job-output.js"
import { hasEnded, jobState } from "./job-state.js"

export interface JobBuildsOptions extends Owner {
  readonly cluster: Cluster
  readonly objects: OwnedObjects
  readonly folders: Pick<MachineFolders, "work">
  readonly isolation: Pick<Isolation, "user">
  readonly store: ArtifactStore
  readonly pullSecret: string | undefined
  /** Plans a build for the base image. */
  readonly planFor: (tree: string, source: BuildSource) => Promise<Plan>
  /** The request in the pod of a plan. */
  readonly requestFor: (source: BuildSource, plan: Plan) => BuildRequest
  /** Sends a tree. @returns  the name of the build's image */
  readonly sendSource: (revisionId: string, tree: string) => Promise<string>
  /** For the registry of the results. */
  readonly login: () => Promise<Credentials | undefined>
  /** What builds may reach besides public addresses. */
  readonly egress: readonly object[]
  readonly limits: { readonly memoryMb: number; readonly diskMb: number }
}

export interface JobBuilds extends Builds {
  /** What builds are about to publish, or have published and not reported. */
  artifactIds(): Promise<ReadonlySet<string>>
}

export function jobBuilds(options: JobBuildsOptions): JobBuilds {
  const { cluster, objects, folders, store, homeId, namespace } = options
  const paths = pathsIn(namespace)
  const trees = sourceTrees(folders, options.isolation)
  const folderOf = (revisionId: string) => workFolder(folders, revisionId).folder
  /** It exists once a Job may exist: a build without one has ended then. */
  const startedFile = (revisionId: string) => `${folderOf(revisionId)}/started.json`

  const jobs = objects.watched<Job>(paths.jobs)
  const pods = objects.watched<Pod>(paths.pods)
  const findJob = (revisionId: string) => jobs.find(buildNameOf(revisionId))
  /**
   * A pod of the revision's former Job may still be there. Job and pod come by two watches, of which one may be behind: when the Job has ended, the
   * server is asked how its pod has.
   */
  const findPod = async (revisionId: string, job: Job): Promise<Pod | undefined> => {
    const match = { [labels.build]: revisionId }
    const found = await (hasEnded(job) ? objects.list<Pod>(paths.pods, match) : pods.list(match))
    return found.find((pod) => isOwnedBy(pod, job))
  }
  const output = jobOutput(cluster, paths.pods, async (revisionId) => {
    const job = await findJob(revisionId)
    return job && findPod(revisionId, job)
  })

  const state = async (revisionId: string): Promise<BuildState> => {
    const job = await findJob(revisionId)
    if (!job) return (await readJson(startedFile(revisionId))) ? ended("the build's Job is gone") : { state: "absent" }
    const now = jobState(job, await findPod(revisionId, job), new Date(), { ...options.limits, startMs })
    if (now.state !== "sent") return now
    const artifactId = job.metadata.labels?.[labels.artifact] ?? ""
    const stored = await store.find(artifactId)
    if (!stored?.verified) return ended("the registry has lost what the build has sent")
    const platform = job.metadata.annotations?.[annotations.platform] ?? ""
    return { state: "published", artifact: { artifactId, platform, ...stored.verified } }
  }

  const ends = jobEnds(objects, namespace)
  const end = (revisionId: string): Promise<void> => {
    output.forget(revisionId)
    return ends.end(revisionId)
  }
  const remove = async (revisionId: string): Promise<void> => {
    await end(revisionId)
    await store.sources.remove(revisionId)
    leftSources?.delete(revisionId)
    // Last: by it the rest is found after a crash.
    await removeTree(folderOf(revisionId))
  }

  const filesOf = async (source: BuildSource, plan: Plan, input: StartInput): Promise<Record<string, string>> => {
    const { host, repository } = store.target
    const sending: Sending = { host, repository, homeId, artifactId: plan.artifactId, configPath: source.configPath }
    const login = await options.login()
    const auths = login && {
      [host]: { auth: Buffer.from(`${login.user}:${login.password.reveal()}`).toString("base64") },
    }
    return {
      [secretFiles.request]: JSON.stringify(checkedRequest(input.request)),
      [secretFiles.variables]: JSON.stringify({ ...plan.env, ...revealAll(input.secrets) }),
      [secretFiles.sending]: JSON.stringify(sending),
      [secretFiles.login]: JSON.stringify({ auths: auths ?? {} }),
    }
  }
  const start = async (source: BuildSource, secrets: Secrets): Promise<void> => {
    const { revisionId } = source
    const job = await findJob(revisionId)
    const limits = { ...options.limits, startMs }
    if (job && jobState(job, await findPod(revisionId, job), new Date(), limits).state === "running") return
    await end(revisionId)
    const tree = await trees.take(revisionId)
    const plan = await options.planFor(tree, source)
    const request = options.requestFor(source, plan)
    const owner = { homeId, namespace }
    for (const policy of buildPoliciesOf(owner, options.egress)) await objects.apply(paths.policies, policy)
    const image = await options.sendSource(revisionId, tree)
    const files = await filesOf(source, plan, { request, secrets })
    await writeJson(startedFile(revisionId), {})
    // The pod needs it, and it goes with the Job, which it can name only afterwards.
    await objects.apply(paths.secrets, buildSecretOf(source, owner, { files }))
    const { artifactId } = plan
    const place = { ...owner, image, artifactId, pullSecret: options.pullSecret }
    const { metadata } = await objects.apply(paths.jobs, jobOf(source, request, place))
    await objects.apply(paths.secrets, buildSecretOf(source, owner, { files, jobUid: metadata.uid }))
    await removeTree(tree)
  }

  /** Revisions whose source image a killed control plane left, or one that ran elsewhere. Asked once: what is sent after that has a folder or a Job. */
  let leftSources: Set<string> | undefined
  const leftovers = async (): Promise<Iterable<string>> => {
    try {
      leftSources ??= new Set(await store.sources.list())
      return leftSources
    } catch (error) {
      if (isRegistryAway(error)) return []
      throw error
    }
  }

  return {
    prepare: async (revisionId) => {
      await remove(revisionId)
      return trees.prepare(revisionId)
    },
    hasTree: trees.has,
    plan: async (source) => (await options.planFor(await trees.take(source.revisionId), source)).artifactId,
    start,
    // While nobody answers, nobody can start another one either.
    state: (revisionId) => state(revisionId).catch(runningIf((error) => mayPass(error) || isAway(error))),
    logs: (revisionId, from) => output.logs(revisionId, from).catch(unreadIf(isAway, from)),
    // The pipeline looks every second, which costs a request only while a container prints.
    watch: async () => undefined,
    forgetResult: end,
    stop: async (revisionIds) => {
      const present = await ends.list()
      await Promise.all(present.filter((id) => revisionIds?.has(id) ?? true).map(end))
    },
    remove,
    list: async () => {
      await mkdir(folders.work, { recursive: true })
      const found = [await readdir(folders.work), await ends.list()]
      return [...new Set([...found.flat(), ...(await leftovers())])]
    },
    artifactIds: async () =>
      new Set((await jobs.list()).flatMap(({ metadata }) => metadata.labels?.[labels.artifact] ?? [])),
  }
}

interface StartInput {
  readonly request: BuildRequest
  readonly secrets: Secrets
}

const ended = (why: string): BuildState => ({ state: "ended", why })

const isAway = (error: unknown): boolean =>
  error instanceof ClusterFailed && (error.status === undefined || error.status >= 500 || error.status === 429)

const runningIf =
  (isPassing: (error: unknown) => boolean) =>
  (error: unknown): BuildState => {
    if (isPassing(error)) return { state: "running" }
    throw error
  }

const unreadIf =
  (isPassing: (error: unknown) => boolean, from: number) =>
  (error: unknown): BuildLogs => {
    if (isPassing(error)) return { lines: [], next: from, unread: String(error) }
    throw error
  }
