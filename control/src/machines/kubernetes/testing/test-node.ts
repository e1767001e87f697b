/**
 * A stand-in for a node: it plays the parts of kubelet, container runtime and metrics server towards a real API server. It runs the pods that the
 * scheduler binds to it, from images that it pulls, and serves their logs.
 */
import { spawnSync } from "node:child_process"
import { chmodSync, chownSync, mkdirSync, writeFileSync } from "node:fs"
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

type Manifest = ReturnType<typeof podOf>
type Spec = Manifest["spec"]
type Sent = Spec["containers"][number] | Spec["initContainers"][number]
// The API server leaves out what is empty, and pods differ.
type Container = Omit<Sent, "resources" | "volumeMounts"> & {
  readonly resources: { readonly limits?: { readonly memory?: string } }
  readonly volumeMounts?: Sent["volumeMounts"]
}
type BoundPod = KubernetesObject & {
  readonly metadata: { readonly deletionGracePeriodSeconds?: number }
  readonly spec: Pick<Spec, "securityContext"> &
    Partial<Pick<Spec, "volumes">> & {
      readonly initContainers?: readonly Container[]
      readonly containers: readonly Container[]
    }
}

interface Running {
  readonly pod: BoundPod
  readonly ip: string
  main?: TestContainer
  isEnding: boolean
}

const nodeName = "test-node"

export interface TestNodeOptions {
  readonly certificate: string
  readonly key: string
  /** Folders of this computer that containers see at the same place, such as that of a database's socket. */
  readonly shared?: readonly string[]
}

export async function testNode(admin: Cluster, { shared = [], ...tls }: TestNodeOptions) {
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
    const [, , namespace, name] = new URL(request.url ?? "/", "https://node").pathname.split("/")
    const found = [...pods.values()].findLast(
      ({ pod: { metadata } }) => metadata.name === name && metadata.namespace === namespace,
    )
    serveLogs(found?.main, request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  await registerNode(admin, (server.address() as AddressInfo).port)
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
  const startContainer = async ({ pod, ip }: Running, container: Container): Promise<TestContainer> => {
    const { root, config } = await filesOf(container.image)
    const user = pod.spec.securityContext.runAsUser
    const mounts = await Promise.all(
      (container.volumeMounts ?? []).map(async ({ name, mountPath: to }) => ({ from: await volume(pod, name), to })),
    )
    mounts.push(...shared.map((path) => ({ from: path, to: path })))
    const command = "command" in container ? (container.command as readonly string[]) : (config.Entrypoint ?? [])
    const variables = "env" in container ? environmentOf(container.env as readonly object[], ip) : {}
    const environment = { ...Object.fromEntries((config.Env ?? []).map((it) => it.split(/=(.*)/s))), ...variables }
    const memoryBytes = bytesOf(container.resources.limits?.memory)
    const workingDir = config.WorkingDir ?? "/"
    return new TestContainer({ root, workingDir, command, environment, user, mounts, memoryBytes })
  }
  const volume = async (pod: BoundPod, name: string): Promise<string> => {
    const path = join(folder, pod.metadata.uid ?? "", "volumes", name)
    mkdirSync(path, { recursive: true })
    const found = pod.spec.volumes?.find((it) => it.name === name)
    if (found && "secret" in found && found.secret) {
      const at = `/api/v1/namespaces/${pod.metadata.namespace}/secrets/${found.secret.secretName}`
      const { body } = await admin.json<{ data: Record<string, string> }>(at)
      for (const [file, content] of Object.entries(body.data))
        writeFileSync(join(path, file), Buffer.from(content, "base64"))
    } else {
      chownSync(path, 0, pod.spec.securityContext.fsGroup)
      chmodSync(path, 0o2777)
    }
    return path
  }
  const run = async (running: Running): Promise<void> => {
    const { pod, ip } = running
    for (const container of pod.spec.initContainers ?? []) {
      const { exitCode } = await (await startContainer(running, container)).ended
      if (exitCode !== 0) return setStatus(running, { phase: "Failed", reason: "InitFailed" })
    }
    const [container] = pod.spec.containers
    if (!container || running.isEnding) return
    const main = await startContainer(running, container)
    running.main = main
    await until(() => main.pid > 0 || main.end, { what: "its first process runs" })
    const common = {
      name: container.name,
      image: container.image,
      imageID: container.image,
      ready: false,
      restartCount: 0,
    }
    const now = new Date().toISOString().replace(/\.\d+/, "")
    const podIPs = [{ ip }]
    const state = { running: { startedAt: now } }
    const containerStatuses = [{ ...common, state, containerID: `test://${pod.metadata.uid}` }]
    await setStatus(running, { phase: "Running", podIP: ip, podIPs, hostIP: "127.0.0.1", containerStatuses })
    const { exitCode, reason } = await main.ended
    const terminated = { exitCode, reason, startedAt: now, finishedAt: now }
    const phase = exitCode === 0 ? "Succeeded" : "Failed"
    await untilAnswered(() => setStatus(running, { phase, containerStatuses: [{ ...common, state: { terminated } }] }))
  }
  /** As a kubelet does: it asks the processes to end, then forces them, and removes the object last. */
  const end = async (running: Running, graceSeconds: number): Promise<void> => {
    if (running.isEnding) return
    running.isEnding = true
    const { main, pod } = running
    if (main && !main.end) {
      main.signal("SIGTERM")
      const timer = setTimeout(() => main.signal("SIGKILL"), graceSeconds * 1000)
      await main.ended
      clearTimeout(timer)
    }
    const body = { gracePeriodSeconds: 0, preconditions: { uid: pod.metadata.uid } }
    await untilAnswered(() => admin.json(pathOf(pod.metadata), { method: "DELETE", body, also: [404, 409] }))
  }
  const look = async (): Promise<void> => {
    const query = { fieldSelector: `spec.nodeName=${nodeName}` }
    const { body } = await admin.json<{ items: BoundPod[] }>("/api/v1/pods", { query })
    const present = new Map(body.items.map((pod) => [pod.metadata.uid ?? "", pod]))
    for (const [uid, pod] of present) {
      const known = pods.get(uid)
      if (!known && pod.metadata.deletionTimestamp === undefined) {
        const running = { pod: { ...pod, kind: "Pod", apiVersion: "v1" }, ip: freeAddress(), isEnding: false }
        pods.set(uid, running)
        void untilAnswered(() => run(running))
      }
      const ending = known ?? { pod, ip: "", isEnding: false }
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
    /** Of the first process of a pod, as this computer sees it. */
    pidOf: (podUid: string): number => pods.get(podUid)?.main?.pid ?? 0,
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
      for (const { main } of pods.values()) if (main && !main.end) main.signal("SIGKILL")
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

async function registerNode(admin: Cluster, port: number): Promise<void> {
  const node = { apiVersion: "v1", kind: "Node", metadata: { name: nodeName, labels: { "kubernetes.io/os": "linux" } } }
  await admin.json("/api/v1/nodes", { method: "POST", body: node })
  const patch = { method: "PATCH", contentType: "application/merge-patch+json" } as const
  // A new node counts as not ready until a controller that we do not run has seen it.
  await admin.json(`/api/v1/nodes/${nodeName}`, { ...patch, body: { spec: { taints: null } } })
  const room = { cpu: "64", memory: "256Gi", pods: "500", "ephemeral-storage": "100Gi" }
  const status = {
    capacity: room,
    allocatable: room,
    addresses: [{ type: "InternalIP", address: "127.0.0.1" }],
    daemonEndpoints: { kubeletEndpoint: { Port: port } },
    conditions: [{ type: "Ready", status: "True", reason: "Test", message: "" }],
  }
  await admin.json(`/api/v1/nodes/${nodeName}/status`, { ...patch, body: { status } })
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
  await admin.json("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", { method: "POST", body })
}

async function reportMetrics(admin: Cluster, pods: Iterable<Running>): Promise<void> {
  for (const { pod, main } of pods) {
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
