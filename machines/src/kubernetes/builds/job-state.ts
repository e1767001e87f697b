/** What a Job and its pod say of a build. Pure. */
import type { BuildCode } from "@superstep/builder/faults/build-failed"
import { parseJobLine } from "@superstep/builder/job/job-log"
import { failureIn, parts } from "@superstep/builder/job/job-places"
import type { BuildState } from "../../port/port.js"
import type { ContainerStatus, Job, KubernetesObject, Pod } from "../cluster/objects.js"
import { whyPending } from "../cluster/pod-state.js"

export interface JobLimits {
  readonly memoryMb: number
  readonly diskMb: number
  /** How long a pod may wait for a node that starts it, in milliseconds. */
  readonly startMs: number
}

/** `sent`: its result is in the registry. */
export type JobState = Exclude<BuildState, { state: "published" | "absent" }> | { readonly state: "sent" }

const conditionOf = ({ status }: Job, type: string) =>
  status?.conditions?.find((it) => it.type === type && it.status === "True")

export const hasEnded = (job: Job): boolean =>
  conditionOf(job, "Complete") !== undefined || conditionOf(job, "Failed") !== undefined

/** @param pod  undefined when there is none, yet or any more */
export function jobState(job: Job, pod: Pod | undefined, now: Date, limits: JobLimits): JobState {
  const failed = conditionOf(job, "Failed")
  if (conditionOf(job, "Complete")) return { state: "sent" }
  if (failed?.reason === "DeadlineExceeded") return tooLong(job, pod)
  if (pod?.status?.phase === "Failed") return podFailure(pod, limits)
  // Its pod was deleted by somebody, or went with its node.
  if (failed) return { state: "ended", why: `the build's pod is gone: ${failed.message ?? failed.reason ?? ""}` }
  if (!pod) return isOld(job, now, limits) ? noPodOf(job) : { state: "running" }
  return isStuck(pod, now, limits) ? notStarted(pod) : { state: "running" }
}

/** A quota of the namespace or an admission webhook may refuse the pod. The Job controller reports that only as events, and tries again. */
const noPodOf = ({ metadata }: Job): JobState => ({
  state: "ended",
  why: `the cluster has no pod for the build: see the events of the Job ${metadata.name}`,
})

const notStarted = (pod: Pod): JobState => ({
  state: "ended",
  why: `the build's pod has not started: ${whyPending(pod)}`,
})

const statusesOf = ({ status }: Pod): readonly ContainerStatus[] =>
  parts.flatMap(
    (part) =>
      [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])].find(
        ({ name }) => name === part,
      ) ?? [],
  )

const isStuck = (pod: Pod, now: Date, limits: JobLimits): boolean =>
  pod.status?.phase === "Pending" &&
  statusesOf(pod).every(({ state }) => !state?.running && !state?.terminated) &&
  isOld(pod, now, limits)

const isOld = ({ metadata }: KubernetesObject, now: Date, { startMs }: JobLimits): boolean =>
  now.getTime() - Date.parse(metadata.creationTimestamp ?? now.toISOString()) > startMs

/** At the deadline the Job controller deletes the pod, and counts it as failed. */
const tooLong = (job: Job, pod: Pod | undefined): JobState => {
  if (!pod && !job.status?.failed) return noPodOf(job)
  const hasStarted = !pod || statusesOf(pod).some(({ state }) => state?.running ?? state?.terminated)
  if (!hasStarted) return notStarted(pod)
  return failedWith("build_timeout", "the build took longer than all its time limits together")
}

const failedWith = (code: BuildCode, message: string): JobState => ({ state: "failed", code, message })

function podFailure(pod: Pod, { memoryMb, diskMb }: JobLimits): JobState {
  const { reason, message = "" } = pod.status ?? {}
  if (reason === "Evicted") return evicted(message, diskMb)
  const ended = statusesOf(pod).find(({ state }) => (state?.terminated?.exitCode ?? 0) !== 0)
  const terminated = ended?.state?.terminated
  if (!ended || !terminated) return { state: "ended", why: `the build's pod failed: ${reason ?? ""} ${message}`.trim() }
  if (terminated.reason === "OOMKilled" && ended.name !== "push")
    return failedWith("build_oom", `the build used more memory than its limit of ${memoryMb} MB`)
  const written = failureIn(terminated.message ?? "")
  if (written && written.error_code !== "internal") return failedWith(written.error_code, written.message)
  const why =
    written?.message ?? `exit code ${terminated.exitCode} (${terminated.reason}): ${lastLogLines(terminated.message)}`
  return { state: "ended", why: `the build's container "${ended.name}" failed: ${why.trim()}` }
}

/** The end of its log, which the cluster gives for a container that wrote no termination message. */
const lastLogLines = (text = ""): string =>
  text
    .trimEnd()
    .split("\n")
    .slice(-mostLastLines)
    .map((line) => parseJobLine(line)?.message ?? line)
    .join(" · ")

const mostLastLines = 5

/** A node evicts pods that use more than they may, and pods that use much when the node itself runs short. */
const evicted = (message: string, diskMb: number): JobState =>
  /ephemeral local storage|local ephemeral storage/.test(message) && /exceed/.test(message)
    ? failedWith("build_too_big", `the build used more disk space than its limit of ${diskMb} MB`)
    : { state: "ended", why: `the cluster evicted the build's pod, since its node ran short: ${message}` }
