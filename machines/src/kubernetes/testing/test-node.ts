/**
 * A stand-in for a node: it plays the parts of kubelet, container runtime and metrics server towards a real API server. It runs the pods that the
 * scheduler binds to it, from images that it pulls, and serves their logs.
 */
import { createServer } from "node:https"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { type Cluster, ClusterFailed } from "../cluster/cluster.js"
import { serveLogs } from "./serve-logs.js"
import { imagesIn } from "./test-images.js"
import { type BoundPod, TestPod, untilAnswered } from "./test-pod.js"

export interface TestNodeOptions {
  readonly name?: string
  readonly certificate: string
  readonly key: string
  /** Folders of this computer that containers see at the same place, such as that of a database's socket. */
  readonly shared?: readonly string[]
}

export async function testNode(admin: Cluster, { name = "test-node", shared = [], ...tls }: TestNodeOptions) {
  const folder = temporaryFolder()
  const place = { admin, folder, shared, filesOf: imagesIn(join(folder, "images")) }
  /** By their uids. */
  const pods = new Map<string, TestPod>()
  let isLost = false
  const server = createServer({ cert: tls.certificate, key: tls.key }, (request, response) => {
    if (isLost) return void request.socket.destroy()
    const [, , namespace, name, container = ""] = new URL(request.url ?? "/", "https://node").pathname.split("/")
    const found = [...pods.values()].findLast(
      ({ metadata }) => metadata.name === name && metadata.namespace === namespace,
    )
    serveLogs(found?.container(container), request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  await registerNode(admin, name, (server.address() as AddressInfo).port)
  await defineMetrics(admin)

  const look = async (): Promise<void> => {
    const query = { fieldSelector: `spec.nodeName=${name}` }
    const { body } = await admin.json<{ items: BoundPod[] }>("/api/v1/pods", { query })
    const present = new Map(body.items.map((pod) => [pod.metadata.uid ?? "", pod]))
    for (const [uid, pod] of present) {
      const known = pods.get(uid)
      const { deletionTimestamp, deletionGracePeriodSeconds = 30 } = pod.metadata
      if (deletionTimestamp !== undefined) {
        void (known ?? new TestPod(pod, place)).end(deletionGracePeriodSeconds)
      } else if (!known) {
        const added = new TestPod(pod, place)
        pods.set(uid, added)
        void untilAnswered(() => added.run())
      }
    }
    for (const [uid, pod] of pods) if (!present.has(uid)) void pod.end(0)
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
    pidOf: (podUid: string): number => pods.get(podUid)?.pid ?? 0,
    /** See `TestPod`. */
    evict: async (podUid: string, message: string) => {
      const pod = pods.get(podUid)
      if (!pod) throw new Error(`the node has no pod ${podUid}`)
      await pod.evict(message)
    },
    /** Those of a namespace, ended ones too. */
    podsIn: (namespace: string): readonly TestPod[] =>
      [...pods.values()].filter(({ metadata }) => metadata.namespace === namespace),
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
      for (const pod of pods.values()) pod.kill()
      server.closeAllConnections()
      server.close()
    },
  }
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

async function reportMetrics(admin: Cluster, pods: Iterable<TestPod>): Promise<void> {
  for (const pod of pods) {
    const bytes = pod.usedBytes()
    if (bytes === undefined) continue
    const { name, namespace, labels } = pod.metadata
    const usage = { cpu: "0", memory: `${Math.round(bytes / 1024)}Ki` }
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
