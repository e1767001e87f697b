/** Edges as pods of a real API server, which is asked with the rights that the chart gives. Their processes are real, too; a test says which are ready. */
import assert from "node:assert/strict"
import { after, before, test } from "node:test"
import { route, token } from "@superstep/edge/testing/harness"
import { createLog } from "@superstep/toolkit/log/log"
import { freePort } from "@superstep/toolkit/testing/free-port"
import { until } from "@superstep/toolkit/testing/until"
import { type TcpEdge, tcpEdge } from "../../parts/edges/testing/tcp-edge.js"
import { noKubernetes, type RealCluster, realCluster } from "../testing/real-cluster.js"
import { edgesInCluster } from "./edges-in-cluster.js"

const skip = noKubernetes
const namespace = "superstep"
const labels = { "app.kubernetes.io/component": "edge" }
// Every address of this network is this computer.
const hosts = ["127.0.0.11", "127.0.0.12"]

let cluster: RealCluster
let adminPort: number
let wakePort: number
let all: TcpEdge[]
let made: ReturnType<typeof edgesInCluster>

before(async () => {
  if (skip) return
  cluster = await realCluster()
  await cluster.admin.json("/api/v1/namespaces", { method: "POST", body: { metadata: { name: namespace } } })
  await mayWatchPods()
  adminPort = await freePort()
  wakePort = await freePort()
  all = []
  for (const host of hosts) all.push(await tcpEdge(`http://127.0.0.1:${wakePort}`, {}, { host, adminPort }))
  made = edgesInCluster({
    cluster: cluster.machine,
    namespace,
    settings: {
      edgeToken: token,
      edgeUrl: all[0]?.url ?? "",
      edgePods: "app.kubernetes.io/component=edge",
      edgeAdminPort: adminPort,
      wakeHost: "127.0.0.1",
      wakePort,
    },
    log: createLog({ process: "test", level: "silent" }),
  })
})
after(async () => {
  if (skip) return
  await made.edge.close()
  for (const edge of all) await edge[Symbol.asyncDispose]()
  await cluster.stop()
})

/** As the chart's Role for the control plane's own namespace. */
async function mayWatchPods(): Promise<void> {
  const at = `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}`
  const apiGroup = "rbac.authorization.k8s.io"
  const metadata = { name: "edges" }
  const rules = [{ apiGroups: [""], resources: ["pods"], verbs: ["list", "watch"] }]
  await cluster.admin.json(`${at}/roles`, { method: "POST", body: { metadata, rules } })
  const roleRef = { apiGroup, kind: "Role", name: "edges" }
  const body = { metadata, roleRef, subjects: [{ apiGroup, kind: "User", name: "machine" }] }
  await cluster.admin.json(`${at}/rolebindings`, { method: "POST", body })
}

const podAt = (host: string) => `edge-${host.split(".").at(-1)}`
const pods = `/api/v1/namespaces/${namespace}/pods`

async function createPod(host: string): Promise<void> {
  const account = `/api/v1/namespaces/${namespace}/serviceaccounts/default`
  await until(async () => (await cluster.admin.json(account, { also: [404] })).status === 200, {
    what: "the namespace is ready for pods",
  })
  const spec = { containers: [{ name: "edge", image: "edge" }] }
  await cluster.admin.json(pods, { method: "POST", body: { metadata: { name: podAt(host), labels }, spec } })
}

/** What a kubelet reports. */
async function report(host: string, isReady: boolean): Promise<void> {
  const conditions = [{ type: "Ready", status: isReady ? "True" : "False" }]
  const status = { phase: "Running", podIP: host, podIPs: [{ ip: host }], conditions }
  await cluster.admin.json(`${pods}/${podAt(host)}/status`, {
    method: "PATCH",
    contentType: "application/strategic-merge-patch+json",
    body: { status },
  })
}

const tableOf = (generation: number) => ({ generation, routes: [route("chat", [], { state: "paused" as const })] })

test("edges are found by their labels, get their table before they are ready, and a push waits for those that are", {
  skip,
}, async () => {
  const { edge } = made
  await assert.rejects(edge.status(), /no edge runs/)
  for (const host of hosts) {
    await createPod(host)
    await report(host, false)
  }
  await until(async () => (await edge.status().catch(() => undefined)) !== undefined, { what: "an edge answers" })
  assert.equal(await edge.isAlive(), false)

  await edge.push(tableOf(1))
  await edge.ensure()
  for (const it of all) await until(async () => (await it.found()).isReady, { what: "the edge has its table" })
  for (const host of hosts) await report(host, true)

  assert.equal(await edge.isAlive(), true)
  await edge.push(tableOf(2))
  const { generation, newestGeneration } = await edge.status()
  assert.deepEqual({ generation, newestGeneration }, { generation: 2, newestGeneration: 2 })
})

test("edges wake deployments at the host of the control plane, and at no other address", { skip }, async () => {
  const stop = await made.listenForWakeCalls(async () => undefined)
  const statusAt = (host: string) =>
    fetch(`http://${host}:${wakePort}/`).then(
      ({ status }) => status,
      () => "refused",
    )

  const statuses = await Promise.all(["127.0.0.1", "127.0.0.2"].map(statusAt))
  await stop()

  assert.deepEqual(statuses, [401, "refused"])
})
