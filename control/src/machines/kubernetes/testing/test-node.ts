/**
 * A stand-in for a node: it plays the parts of kubelet, container runtime and metrics server towards a real API server. It runs the pods that the
 * scheduler binds to it, from images that it pulls, and serves their logs.
 */
import { spawnSync } from "node:child_process"
import { mkdirSync } from "node:fs"
import { createServer } from "node:https"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { until } from "@superstep/toolkit/testing/until"
import { layoutIn } from "../../images/layout.js"
import { registryAt } from "../../images/registry/client.js"
import { findImage, readBlob } from "../../images/registry/pull.js"
import { originOf, parseReference } from "../../images/registry/reference.js"
import { type Cluster, ClusterFailed } from "../cluster.js"
import type { podOf } from "../manifests.js"
import type { KubernetesObject } from "../objects.js"
import { bytesOf } from "../pod-state.js"
import { serveLogs } from "./serve-logs.js"
import { TestContainer } from "./test-container.js"
import { fillVolume, terminationFile, terminationMessage, type Volume } from "./test-volumes.js"

type Manifest = ReturnType<typeof podOf>
type Spec = Manifest["spec"]
type Sent = Spec["containers"][number] | Spec["initContainers"][number]
// The API server leaves out what is empty, and pods differ.
type Container = Pick<Sent, "name" | "image"> & {
  readonly command?: readonly string[]
  readonly args?: readonly string[]
  readonly env?: readonly object[]
  readonly resources: { readonly limits?: { readonly memory?: string } }
  readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string; readonly readOnly?: boolean }[]
}
type BoundPod = KubernetesObject & {
  readonly metadata: { readonly deletionGracePeriodSeconds?: number }
  readonly spec: Pick<Spec, "securityContext"> & {
    readonly volumes?: readonly Volume[]
    readonly initContainers?: readonly Container[]
    readonly containers: readonly Container[]
  }
}

interface Running {
  readonly pod: BoundPod
  readonly ip: string
  /** By their names. */
  readonly containers: Map<string, TestContainer>
  /** The last one that was started. */
  current?: TestContainer
  isEnding: boolean
  isEvicted: boolean
}

const asRunning = (pod: BoundPod): Running => ({
  pod,
  ip: freeAddress(),
  containers: new Map(),
  isEnding: false,
  isEvicted: false,
})

/** As the API has it, without fractions. */
const now = (): string => new Date().toISOString().replace(/\.\d+/, "")

export interface TestNodeOptions {
  readonly name?: string
  readonly certificate: string
  readonly key: string
  /** Folders of this computer that containers see at the same place, such as that of a database's socket. */
  readonly shared?: readonly string[]
}

export async function testNode(admin: Cluster, { name = "test-node", shared = [], ...tls }: TestNodeOptions) {
  const folder = temporaryFolder()
  const images = new Map<string, ReturnType<typeof unpack>>()
  /** Containers share an image's files, which they cannot change. */
  const filesOf = (image: string) => {
    const files = images.get(image) ?? unpack(join(folder, "images", `${images.size}`, "root"), image)
    images.set(image, files)
    return files
  }
  const pods = new Map<string, Running>()
  let isLost = false
  const server = createServer({ cert: tls.certificate, key: tls.key }, (request, response) => {
    if (isLost) return void request.socket.destroy()
    const [, , namespace, name, container = ""] = new URL(request.url ?? "/", "https://node").pathname.split("/")
    const found = [...pods.values()].findLast(
      ({ pod: { metadata } }) => metadata.name === name && metadata.namespace === namespace,
    )
    serveLogs(found?.containers.get(container), request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  await registerNode(admin, name, (server.address() as AddressInfo).port)
  await defineMetrics(admin)

  const setStatus = async ({ pod: { metadata } }: Running, status: object) => {
    await admin.json(`${pathOf(metadata)}/status`, {
      method: "PATCH",
      contentType: "application/merge-patch+json",
      body: { metadata: { uid: metadata.uid }, status },
      // It was deleted, or evicted and so has ended for the API.
      also: [404, 409, 422],
    })
  }
  const startContainer = async (running: Running, container: Container): Promise<TestContainer | undefined> => {
    const { pod, ip } = running
    const { root, config } = await filesOf(container.image)
    const user = pod.spec.securityContext.runAsUser
    const mounts = await Promise.all(
      (container.volumeMounts ?? []).map(async ({ name, mountPath: to, readOnly }) => ({
        from: await volume(running, name),
        to,
        readOnly,
      })),
    )
    if (running.isEnding) return undefined
    mounts.push(terminationFile(folderOf(pod), container.name))
    mounts.push(...shared.map((path) => ({ from: path, to: path, readOnly: false })))
    const command = [...(container.command ?? config.Entrypoint ?? []), ...(container.args ?? [])]
    const variables = environmentOf(container.env ?? [], ip)
    const environment = { ...Object.fromEntries((config.Env ?? []).map((it) => it.split(/=(.*)/s))), ...variables }
    const memoryBytes = bytesOf(container.resources.limits?.memory)
    const workingDir = config.WorkingDir ?? "/"
    const started = new TestContainer({ root, workingDir, command, environment, user, mounts, memoryBytes })
    running.containers.set(container.name, started)
    running.current = started
    await until(() => started.pid > 0 || started.end, { what: "its first process runs" })
    return started
  }
  const folderOf = ({ metadata }: BoundPod) => join(folder, metadata.uid ?? "")
  const volume = (running: Running, name: string, { pod } = running): Promise<string> =>
    fillVolume(join(folderOf(pod), "volumes", name), {
      admin,
      namespace: pod.metadata.namespace ?? "",
      volume: pod.spec.volumes?.find((it) => it.name === name),
      group: pod.spec.securityContext.fsGroup,
      isEnding: () => running.isEnding,
    })
  /** What the API server is told about a pod: the states of its containers as far as they have been started. */
  const report = (running: Running, phase: string, startedAt: ReadonlyMap<string, string>) => {
    const { pod, ip, containers } = running
    const toStatus = ({ name, image }: Container) => {
      const container = containers.get(name)
      const end = container?.end
      const times = { startedAt: startedAt.get(name) }
      const terminated = end && {
        ...end,
        ...times,
        finishedAt: now(),
        message: terminationMessage(folderOf(pod), name, end.exitCode, container?.lines ?? []),
      }
      const waiting = { reason: "PodInitializing" }
      const state = terminated ? { terminated } : container ? { running: times } : { waiting }
      const containerID = container && { containerID: `test://${pod.metadata.uid}/${name}` }
      return { name, image, imageID: image, ready: false, restartCount: 0, state, ...containerID }
    }
    return setStatus(running, {
      phase,
      ...(phase === "Running" && { podIP: ip, podIPs: [{ ip }], hostIP: "127.0.0.1" }),
      initContainerStatuses: (pod.spec.initContainers ?? []).map(toStatus),
      containerStatuses: pod.spec.containers.map(toStatus),
    })
  }
  const run = async (running: Running): Promise<void> => {
    const { initContainers = [], containers } = running.pod.spec
    const startedAt = new Map<string, string>()
    const all = [...initContainers, ...containers.slice(0, 1)]
    for (const container of all) {
      if (running.isEnding) return
      const started = await startContainer(running, container)
      if (!started) return
      startedAt.set(container.name, now())
      await untilAnswered(() => report(running, initContainers.includes(container) ? "Pending" : "Running", startedAt))
      const { exitCode } = await started.ended
      if (running.isEvicted) return
      const isLast = container === all.at(-1)
      const phase = exitCode !== 0 ? "Failed" : isLast ? "Succeeded" : "Pending"
      await untilAnswered(() => report(running, phase, startedAt))
      if (exitCode !== 0) return
    }
  }
  /** As a kubelet does: it asks the processes to end, then forces them, and removes the object last. */
  const end = async (running: Running, graceSeconds: number): Promise<void> => {
    if (running.isEnding) return
    running.isEnding = true
    const { current, pod } = running
    if (current && !current.end) {
      current.signal("SIGTERM")
      const timer = setTimeout(() => current.signal("SIGKILL"), graceSeconds * 1000)
      await current.ended
      clearTimeout(timer)
    }
    const body = { gracePeriodSeconds: 0, preconditions: { uid: pod.metadata.uid } }
    await untilAnswered(() => admin.json(pathOf(pod.metadata), { method: "DELETE", body, also: [404, 409] }))
  }
  const look = async (): Promise<void> => {
    const query = { fieldSelector: `spec.nodeName=${name}` }
    const { body } = await admin.json<{ items: BoundPod[] }>("/api/v1/pods", { query })
    const present = new Map(body.items.map((pod) => [pod.metadata.uid ?? "", pod]))
    for (const [uid, pod] of present) {
      const known = pods.get(uid)
      if (!known && pod.metadata.deletionTimestamp === undefined) {
        const running = asRunning({ ...pod, kind: "Pod", apiVersion: "v1" })
        pods.set(uid, running)
        void untilAnswered(() => run(running))
      }
      const ending = known ?? asRunning(pod)
      if (pod.metadata.deletionTimestamp !== undefined) void end(ending, pod.metadata.deletionGracePeriodSeconds ?? 30)
    }
    for (const [uid, running] of pods) if (!present.has(uid)) void end(running, 0)
    await reportMetrics(admin, pods.values())
  }
  let isStopped = false
  const loop = (async () => {
    while (!isStopped) {
      // While the API server is away, pods run on.
      if (!isLost)
        await look().catch((error: unknown) => {
          if (!(error instanceof ClusterFailed)) throw error
        })
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  })()
  return {
    name,
    /** Of the first process of a pod, as this computer sees it. */
    pidOf: (podUid: string): number => pods.get(podUid)?.current?.pid ?? 0,
    /** As a node does that runs short of something, or whose pod uses too much of it. */
    evict: async (podUid: string, message: string) => {
      const running = pods.get(podUid)
      if (!running) throw new Error(`the node has no pod ${podUid}`)
      running.isEnding = true
      running.isEvicted = true
      running.current?.signal("SIGKILL")
      await running.current?.ended
      await setStatus(running, { phase: "Failed", reason: "Evicted", message })
      running.isEnding = false
    },
    /** The cluster hears nothing of it, and its pods run on. */
    lose: () => {
      isLost = true
      server.closeAllConnections()
    },
    comeBack: () => {
      isLost = false
    },
    stop: async () => {
      isStopped = true
      await loop
      for (const { current } of pods.values()) if (current && !current.end) current.signal("SIGKILL")
      server.closeAllConnections()
      server.close()
    },
  }
}

const pathOf = ({ namespace, name }: KubernetesObject["metadata"]) => `/api/v1/namespaces/${namespace}/pods/${name}`

async function untilAnswered(work: () => Promise<unknown>): Promise<void> {
  const tried = () =>
    work().then(
      () => true,
      (error: unknown) => {
        if (error instanceof ClusterFailed && error.status === undefined) return false
        throw error
      },
    )
  await until(tried, { what: "the API server answers the node", timeoutMs: 300_000 })
}

/** All of 127.0.0.0/8 is this computer, so each pod has the same port at an address of its own. */
const freeAddress = (): string => {
  const part = () => 1 + Math.floor(Math.random() * 250)
  return `127.${part()}.${part()}.${part()}`
}

function environmentOf(env: readonly object[], ip: string): Record<string, string> {
  const found: Record<string, string> = {}
  for (const { name, value } of env as readonly { name: string; value?: string }[]) {
    const expand = (text: string) =>
      text.replace(/\$\$|\$\(([A-Za-z_]\w*)\)/g, (all, key?: string) =>
        all === "$$" ? "$" : key !== undefined && key in found ? (found[key] ?? "") : all,
      )
    found[name] = value === undefined ? ip : expand(value)
  }
  return found
}

/** Pulls an image, and puts the files of its layers into a folder. */
async function unpack(root: string, image: string) {
  const reference = parseReference(image)
  const registry = registryAt({ origin: originOf(reference) })
  const { base } = await findImage(registry, reference)
  mkdirSync(root, { recursive: true })
  const layout = layoutIn(join(root, "..", "layers"))
  for (const { blob } of base.layers) {
    const pieces: Uint8Array[] = []
    for await (const piece of readBlob(registry, reference.repository, blob.digest, 0)) pieces.push(piece)
    await layout.addBytes(Buffer.concat(pieces), blob)
    const { status, stderr } = spawnSync("tar", ["-x", "-f", layout.pathOf(blob.digest), "-C", root])
    if (status !== 0) throw new Error(`tar: ${stderr}`)
  }
  return { root, config: base.config.config ?? {} }
}

async function registerNode(admin: Cluster, name: string, port: number): Promise<void> {
  const node = { apiVersion: "v1", kind: "Node", metadata: { name, labels: { "kubernetes.io/os": "linux" } } }
  await admin.json("/api/v1/nodes", { method: "POST", body: node })
  const patch = { method: "PATCH", contentType: "application/merge-patch+json" } as const
  // A new node counts as not ready until a controller that we do not run has seen it.
  await admin.json(`/api/v1/nodes/${name}`, { ...patch, body: { spec: { taints: null } } })
  const room = { cpu: "64", memory: "256Gi", pods: "500", "ephemeral-storage": "100Gi" }
  const status = {
    capacity: room,
    allocatable: room,
    addresses: [{ type: "InternalIP", address: "127.0.0.1" }],
    daemonEndpoints: { kubeletEndpoint: { Port: port } },
    conditions: [{ type: "Ready", status: "True", reason: "Test", message: "" }],
  }
  await admin.json(`/api/v1/nodes/${name}/status`, { ...patch, body: { status } })
}

/** The metrics API as a resource whose objects this node writes. */
async function defineMetrics(admin: Cluster): Promise<void> {
  const names = { plural: "pods", singular: "pod", kind: "PodMetrics", listKind: "PodMetricsList" }
  const schema = { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } }
  const body = {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "pods.metrics.k8s.io", annotations: { "api-approved.kubernetes.io": "unapproved, for tests" } },
    spec: {
      group: "metrics.k8s.io",
      scope: "Namespaced",
      names,
      versions: [{ name: "v1beta1", served: true, storage: true, schema }],
    },
  }
  await admin.json("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {
    method: "POST",
    body,
    // Another node has defined it.
    also: [409],
  })
}

async function reportMetrics(admin: Cluster, pods: Iterable<Running>): Promise<void> {
  for (const { pod, containers } of pods) {
    const main = containers.get(pod.spec.containers[0]?.name ?? "")
    if (!main || main.end) continue
    const { name, namespace, labels } = pod.metadata
    const usage = { cpu: "0", memory: `${Math.round(main.usedBytes() / 1024)}Ki` }
    await admin.json(`/apis/metrics.k8s.io/v1beta1/namespaces/${namespace}/pods/${name}`, {
      method: "PATCH",
      query: { fieldManager: "metrics", force: "true" },
      contentType: "application/apply-patch+yaml",
      body: {
        apiVersion: "metrics.k8s.io/v1beta1",
        kind: "PodMetrics",
        metadata: { name, namespace, labels },
        containers: [{ name: "unit", usage }],
      },
      also: [404, 403, 409],
    })
  }
}
