/**
 * Units as pods. A unit has a Service, which is its address, a Secret from its start until it is stopped, and a pod for each of its lives. The
 * cluster keeps them, also while we do not run.
 */
import { mkdir, readdir } from "node:fs/promises"
import { join } from "node:path"
import { KnownError } from "@superstep/toolkit/errors/errors"
import { removeTree } from "@superstep/toolkit/files/remove-tree"
import type { Log } from "@superstep/toolkit/log/log"
import type { Clock } from "@superstep/toolkit/time/clock"
import { removeFormerCopies } from "../parts/output/unread-output.js"
import { serviceAddress } from "../parts/units/unit-address.js"
import { unitEnvironment, unitSecrets } from "../parts/units/unit-environment.js"
import type { UnitSpec, UnitStatus, Units } from "../port/port.js"
import type { Cluster } from "./cluster/cluster.js"
import { inside, listenVariable, podOf, secretOf, serviceOf } from "./cluster/manifests.js"
import { unitPoliciesOf } from "./cluster/network-policies.js"
import { containerName, labels, nameOf, type Pod, pathsIn } from "./cluster/objects.js"
import type { OwnedObjects } from "./cluster/owned-objects.js"
import { bytesOf, isDisrupted, stateOf, whyPending } from "./cluster/pod-state.js"
import type { UnitImage } from "./unit-images.js"
import { unitMarks } from "./unit-marks.js"
import { unitOutput } from "./unit-output.js"

export interface KubernetesUnitsOptions {
  readonly cluster: Cluster
  readonly objects: OwnedObjects
  readonly homeId: string
  /** Where units are, and where edge and control plane are. */
  readonly namespace: string
  readonly platformNamespace: string
  readonly pullSecret: string | undefined
  /** Of this computer, for what units print while they are ended. */
  readonly folder: string
  /** The image of an artifact, in a registry that nodes can pull from. */
  readonly imageOf: (artifactId: string) => Promise<UnitImage>
  readonly environment: NodeJS.ProcessEnv
  /** How long a node may take beyond a pod's grace time, until the pod counts as lost with its node; in milliseconds. */
  readonly lostMs?: number
  /** By which what a Secret says grows old. */
  readonly clock?: Clock
  readonly log: Log
}

/** A pod was created, and did not start within its time. */
export class PodNotStarted extends KnownError {
  readonly code = "pod_not_started"
  constructor(name: string, why: string) {
    super(`the pod ${name} has not started: ${why}`)
  }
}

// A node may have to pull the image first.
const startMs = 120_000
const usualLostMs = 30_000
// Programs of an image are not where ours are.
const pathInside = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

export function kubernetesUnits(options: KubernetesUnitsOptions): Units {
  const { cluster, objects, homeId, namespace, folder, lostMs = usualLostMs } = options
  const paths = pathsIn(namespace)
  const folderOf = (unitId: string) => join(folder, unitId)
  const pods = objects.watched<Pod>(paths.pods)
  const services = objects.watched(paths.services)
  const marks = unitMarks(objects, paths.secrets, options.clock)
  const findPod = (unitId: string) => pods.find(nameOf(unitId))
  const output = unitOutput({
    cluster,
    pods: paths.pods,
    folderOf,
    findPod,
    // A log is asked for by the name of its pod: which pod that was, only the server knows.
    askForPod: (unitId) => objects.find<Pod>(paths.pods, nameOf(unitId)),
    log: options.log,
  })

  const starts = new Map<string, Promise<void>>()
  const status = async (unitId: string): Promise<UnitStatus> => {
    const wasStarting = starts.has(unitId)
    const pod = await findPod(unitId)
    const state = pod && stateOf(pod)
    if (pod && !(state && isDisrupted(pod))) return state ?? { state: "absent" }
    // A start makes the Secret before the pod.
    const isStarting = () => !pod && (wasStarting || starts.has(unitId))
    if (isStarting()) return { state: "absent" }
    const started = await marks.find(unitId, pod)
    if (isStarting() || (!pod && started === undefined)) return { state: "absent" }
    const isByOthers = pod ? started === pod.metadata.uid : Boolean(started)
    const ended = state ?? { state: "exited" }
    const isOutOfMemory = ended.state === "exited" && ended.ranOutOfMb !== undefined
    return isByOthers && !isOutOfMemory ? { ...ended, isDisrupted: true } : ended
  }

  /** A start that comes while another one of the same unit is under way waits for that. */
  const start = (spec: UnitSpec): Promise<void> => {
    const started = starts.get(spec.unitId) ?? startNow(spec).finally(() => starts.delete(spec.unitId))
    starts.set(spec.unitId, started)
    return started
  }
  const startNow = async (spec: UnitSpec): Promise<void> => {
    const { unitId } = spec
    const former = await findPod(unitId)
    const formerState = former && stateOf(former)
    const isUp = formerState?.state === "running" && former?.metadata.deletionTimestamp === undefined
    if (!isUp && former && (formerState || former.metadata.deletionTimestamp !== undefined))
      await endPod(unitId, killSeconds)
    if (!former || (formerState && !isUp)) await createPod(spec)
    const pod = await untilStarted(unitId)
    if (pod && stateOf(pod)?.state === "running") await marks.write(unitId, pod.metadata.uid ?? "")
  }
  const createPod = async (spec: UnitSpec): Promise<void> => {
    await removeFormerCopies(folderOf(spec.unitId))
    const owner = { homeId, namespace }
    const { reference: image, configEnv } = await options.imageOf(spec.artifactId)
    const place = { folder: inside.unit, settingsFile: inside.settings, artifactFolder: inside.app, configEnv }
    const base = { ...options.environment, PATH: pathInside }
    // Somebody may have removed them, with the namespace for example.
    for (const policy of unitPoliciesOf(owner, options.platformNamespace)) await objects.apply(paths.policies, policy)
    const service = await objects.apply(paths.services, serviceOf(spec, owner))
    const serviceUid = service.metadata.uid
    await objects.apply(paths.secrets, secretOf(spec, owner, { serviceUid, secrets: unitSecrets(spec, place, base) }))
    marks.forget(spec.unitId)
    const { [listenVariable]: _, ...environment } = unitEnvironment(spec, place, base)
    const pod = podOf(spec, { ...owner, serviceUid, image, pullSecret: options.pullSecret, environment })
    await objects.apply(paths.pods, pod)
  }
  /** Or until it has ended: then its status says so. @returns  undefined when it is gone. @throws PodNotStarted */
  const untilStarted = async (unitId: string): Promise<Pod | undefined> => {
    const name = nameOf(unitId)
    const started = await pods.until((shown) => {
      const pod = shown.find(name)
      return !pod || stateOf(pod) ? { pod } : undefined
    }, startMs)
    if (started) return started.pod
    const pod = await findPod(unitId)
    // The next start makes another one: the reason may be in the settings that this one was made with.
    await objects.remove(paths.pods, name, { graceSeconds: killSeconds })
    throw new PodNotStarted(name, pod ? whyPending(pod) : "it is gone")
  }
  /** Resolves when its node has ended its processes, or when the node is lost. */
  const endPod = (unitId: string, graceSeconds: number): Promise<void> =>
    output.keepWhile(unitId, async () => {
      await objects.remove(paths.pods, nameOf(unitId), { graceSeconds })
      if (await objects.untilGone(paths.pods, nameOf(unitId), graceSeconds * 1000 + lostMs)) return
      await objects.remove(paths.pods, nameOf(unitId), { graceSeconds: 0 })
      await objects.untilGone(paths.pods, nameOf(unitId), lostMs)
    })

  const runningPods = async (unitIds: readonly string[]) => {
    const wanted = new Set(unitIds)
    return (await pods.list())
      .map((pod) => ({ pod, unitId: pod.metadata.labels?.[labels.unit] ?? "" }))
      .filter(({ pod, unitId }) => wanted.has(unitId) && stateOf(pod)?.state === "running")
  }
  const isLimited = ({ spec }: Pod) => spec.containers[0]?.resources?.limits?.memory !== undefined

  return {
    start,
    status,
    address: (unitId) => serviceAddress(unitId, namespace),
    logs: output.logs,
    watchLogs: output.watchLogs,
    memoryMb: async (unitIds) => {
      const measured = (await runningPods(unitIds)).filter(({ pod }) => !isLimited(pod))
      const used = await memoryOf(cluster, paths.metrics, homeId)
      return new Map(
        measured.flatMap(({ pod, unitId }) => {
          const bytes = used.get(pod.metadata.name)
          return bytes === undefined ? [] : [[unitId, Math.round(bytes / 2 ** 20)]]
        }),
      )
    },
    // The metrics API tells how fast processor time is used, not how much was used.
    usage: async (unitIds) => new Map((await runningPods(unitIds)).map(({ unitId }) => [unitId, []])),
    kill: async (unitId) => {
      const pod = await findPod(unitId)
      if (!pod || stateOf(pod)?.state === "exited") return
      // Its end counts as a crash.
      await marks.write(unitId, "")
      await endPod(unitId, killSeconds)
    },
    stop: async (unitId, { graceMs }) => {
      if (await findPod(unitId)) await endPod(unitId, Math.max(killSeconds, Math.ceil(graceMs / 1000)))
      // A requested end is no crash.
      await objects.remove(paths.secrets, nameOf(unitId))
      marks.forget(unitId)
    },
    remove: async (unitId) => {
      const name = nameOf(unitId)
      await objects.remove(paths.pods, name, { graceSeconds: killSeconds })
      await objects.remove(paths.secrets, name)
      marks.forget(unitId)
      await objects.remove(paths.services, name)
      await removeTree(folderOf(unitId))
    },
    list: async () => {
      await mkdir(folder, { recursive: true })
      const kept = await readdir(folder)
      const found = [await services.list(), await pods.list()].flat()
      const inCluster = found.map(({ metadata }) => metadata.labels?.[labels.unit] ?? [])
      return [...new Set([...kept, ...inCluster.flat()])]
    },
  }
}

// With 0 the API forgets a pod before its node has ended it, and two lives of a unit could run at once.
const killSeconds = 1

interface PodMetrics {
  readonly metadata: { readonly name: string }
  readonly containers: readonly { readonly name: string; readonly usage: { readonly memory?: string } }[]
}

/** By names of pods. Empty where the cluster has no metrics API. */
async function memoryOf(cluster: Cluster, path: string, homeId: string): Promise<ReadonlyMap<string, number>> {
  const query = { labelSelector: `${labels.owner}=${homeId}` }
  const { status, body } = await cluster.json<{ items: readonly PodMetrics[] }>(path, { query, also: [404, 403, 503] })
  if (status !== 200) return new Map()
  return new Map(
    body.items.flatMap(({ metadata, containers }) => {
      const bytes = bytesOf(containers.find(({ name }) => name === containerName)?.usage.memory)
      return bytes === undefined ? [] : [[metadata.name, bytes] as const]
    }),
  )
}
