/**
 * The platform as a cluster has it: a release of the chart, whose pods run the platform's own image. Its Postgres is outside of the cluster. Tests
 * reach the API and agents by the names of the chart's Services.
 */
import { randomBytes } from "node:crypto"
import { tmpdir } from "node:os"
import { networkSettingsOf } from "@superstep/builder/environment"
import { installationIdOf } from "@superstep/control/home/home-queries"
import { type Pod, pathsIn } from "@superstep/machines/kubernetes/cluster/objects"
import { inChargeLabel } from "@superstep/machines/kubernetes/cluster/pod-in-charge"
import type { TestPod } from "@superstep/machines/kubernetes/testing/test-pod"
import { openDatabase } from "@superstep/toolkit/db/database"
import { silent } from "@superstep/toolkit/testing/test-cluster"
import { until } from "@superstep/toolkit/testing/until"
import { v7 as newId } from "uuid"
import { startExternalPostgres } from "./chart/external-postgres.js"
import { platformImageOfFile } from "./chart/platform-image.js"
import { installRelease, type ReleasePlace, uninstallRelease } from "./chart/release.js"
import { apiOf, type Credentials, type Platform, type PlatformOptions } from "./installation.js"
import { clusterOfFile } from "./machines/cluster-of-file.js"
import { unitsInCluster } from "./machines/units-in-cluster.js"

const secretName = "superstep"
const component = "app.kubernetes.io/component"

export async function startInstalledChart({ env = {} }: PlatformOptions): Promise<Platform> {
  // Repositories that tests make, and the socket of Postgres.
  const cluster = await clusterOfFile([tmpdir()])
  const repository = await platformImageOfFile(cluster)
  const postgres = await startExternalPostgres()
  const { uri } = postgres
  const id = newId().slice(-12)
  const [namespace, agents] = [`platform-${id}`, `agents-${id}`]
  const place: ReleasePlace = { cluster, namespace }
  await createNamespace(place, uri)
  const settings = {
    ...networkSettingsOf(process.env),
    SUPERSTEP_GIT_PROTOCOLS: "file",
    SUPERSTEP_WORKERS: "1",
    ...env,
  }
  const podsOf = (name: string) =>
    cluster.podsIn(namespace).filter(({ metadata }) => metadata.labels?.[component] === name)
  const output = () =>
    [...podsOf("control"), ...podsOf("edge")].map((pod) => `${pod.metadata.name}:\n${pod.output}`).join("")
  await installRelease(place, {
    image: { repository },
    secretName,
    registry: { repository: `${cluster.host}/agents` },
    agents: { namespace: agents },
    control: { env: settings },
  }).catch((cause: unknown) => {
    throw new Error(`the chart cannot be installed: ${output()}`, { cause })
  })
  const [pod] = podsOf("control")
  if (!pod) throw new Error("the chart has no control plane")
  const credentials = await createCredentials(pod, `http://superstep-control.${namespace}.svc:8900`)
  const db = openDatabase({ uri, log: silent, poolSize: 1 })
  return {
    credentials,
    agentsUrl: `http://superstep-edge.${namespace}.svc:8901`,
    api: apiOf(credentials),
    output,
    controlPid: async () => {
      const query = { labelSelector: `${inChargeLabel}=true,${component}=control` }
      const { body } = await cluster.admin.json<{ items: readonly Pod[] }>(pathsIn(namespace).pods, { query })
      return body.items.map(({ metadata }) => cluster.pidOf(metadata.uid ?? "")).find((pid) => pid > 0)
    },
    machine: unitsInCluster({ cluster, namespace: agents, installationId: () => installationIdOf(db) }),
    [Symbol.asyncDispose]: async () => {
      await db.close()
      await uninstallRelease(place)
      await untilGone(place, agents)
      const failed = [...podsOf("control"), ...podsOf("edge")].filter(({ exitCode }) => exitCode !== 0)
      await postgres.stop()
      if (failed.length > 0)
        throw new Error(
          `${failed.map(({ metadata, exitCode }) => `${metadata.name} ended with ${exitCode}`)}:\n${output()}`,
        )
    },
  }
}

/** With the Secret of docs/kubernetes.md. Only pods with the least rights may be in it. */
async function createNamespace({ cluster, namespace }: ReleasePlace, uri: string): Promise<void> {
  const labels = { "pod-security.kubernetes.io/enforce": "restricted" }
  const body = { metadata: { name: namespace, labels } }
  await cluster.admin.json("/api/v1/namespaces", { method: "POST", body })
  const stringData = {
    "database-uri": uri,
    "master-key": randomBytes(32).toString("base64"),
    "edge-token": randomBytes(32).toString("hex"),
  }
  const secret = { metadata: { name: secretName }, stringData }
  await cluster.admin.json(pathsIn(namespace).secrets, { method: "POST", body: secret })
}

/** As an administrator makes them, by `kubectl exec`. */
async function createCredentials(pod: TestPod, url: string): Promise<Credentials> {
  const superstep = async <T>(...args: readonly string[]) =>
    JSON.parse(await pod.exec("superstep", ...args, "--json")) as T
  const { id } = await superstep<{ id: string }>("workspaces", "create", "main")
  const ofWorkspace = await superstep<{ key: string }>("keys", "create", "--workspace", id)
  const ofAll = await superstep<{ key: string }>("keys", "create", "--org")
  return { url, tenant_id: id, api_key: ofWorkspace.key, org_api_key: ofAll.key }
}

/** The chart's pods, and the namespace of agents with all that was in it. */
async function untilGone({ cluster, namespace }: ReleasePlace, agents: string): Promise<void> {
  const limit = { timeoutMs: 300_000 }
  const { pods } = pathsIn(namespace)
  const isEmpty = async () => (await cluster.admin.json<{ items: readonly Pod[] }>(pods)).body.items.length === 0
  await until(isEmpty, { what: "no pod of the chart is left", ...limit })
  const isGone = async () => (await cluster.admin.json(`/api/v1/namespaces/${agents}`, { also: [404] })).status === 404
  await until(isGone, { what: "the namespace of agents is gone", ...limit })
}
