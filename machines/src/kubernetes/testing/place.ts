/** An installation in a namespace of a real cluster, whose images are in a real registry. */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { after, before } from "node:test"
import { fileURLToPath } from "node:url"
import { layoutIn } from "@superstep/oci/layout"
import { artifactStore } from "@superstep/oci/registry/artifact-store"
import { registryAt } from "@superstep/oci/registry/client"
import { findImage } from "@superstep/oci/registry/pull"
import { parseReference } from "@superstep/oci/registry/reference"
import { hasRegistry, realRegistry } from "@superstep/oci/testing/real-registry"
import type { Log } from "@superstep/toolkit/log/log"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { silent } from "@superstep/toolkit/testing/test-cluster"
import { until } from "@superstep/toolkit/testing/until"
import type { Clock } from "@superstep/toolkit/time/clock"
import { v7 as newId } from "uuid"
import { projectFiles } from "../../testing/example-artifact.js"
import type { Cluster } from "../cluster/cluster.js"
import { type KubernetesObject, nameOf, type Pod, pathsIn } from "../cluster/objects.js"
import { type OwnedObjects, ownedObjects } from "../cluster/owned-objects.js"
import { unitImages } from "../unit-images.js"
import { kubernetesUnits } from "../units.js"
import { resolveServices } from "./cluster-dns.js"
import { pushBase } from "./push-base.js"
import { noKubernetes, realCluster } from "./real-cluster.js"
import { grantRights, machineRules } from "./rights.js"
import { writeServiceNames } from "./service-names.js"
import { whyNoContainers } from "./test-container.js"
import { testNode } from "./test-node.js"
import type { TestPod } from "./test-pod.js"

const why = () => noKubernetes || whyNoContainers() || (hasRegistry() ? false : "needs docker-registry")

/** Why tests with a cluster cannot run here. */
export const noCluster: string | false = why()

const machines = fileURLToPath(new URL("..", import.meta.resolve("@superstep/machines/testing/fake-unit")))

/** The program of fake units with what it needs, at the same places relative to each other. */
const fakeRuntime = ["machines/programs"]

const runtime = {
  parts: fakeRuntime.map((path) => ({ from: join(machines, "..", path), to: `superstep/runtime/${path}` })),
  entry: "machines/programs/testing-unit.js",
}

export type TestCluster = Awaited<ReturnType<typeof testCluster>>

/** One cluster with one node and a registry, for all tests of a file. */
export async function testCluster({ shared = [] }: { readonly shared?: readonly string[] } = {}) {
  const cluster = await realCluster()
  const node = await testNode(cluster.admin, { ...cluster, shared })
  const nodes = [node]
  const registry = await realRegistry()
  const endNames = resolveServices(cluster.admin)
  const endHosts = writeServiceNames(cluster.admin)
  const layout = layoutIn(temporaryFolder())
  const host = `127.0.0.1:${registry.port}`
  const baseImage = await pushBase(registry.origin)
  return {
    ...cluster,
    node,
    addNode: async (name: string) => {
      const added = await testNode(cluster.admin, { ...cluster, shared, name })
      nodes.push(added)
      return added
    },
    /** Of the first process of a pod, on any node. */
    pidOf: (podUid: string): number => nodes.map((it) => it.pidOf(podUid)).find((pid) => pid > 0) ?? 0,
    /** Pods that run or ran in a namespace, on any node. */
    podsIn: (namespace: string): readonly TestPod[] => nodes.flatMap((it) => it.podsIn(namespace)),
    registry,
    layout,
    host,
    baseImage,
    stop: async () => {
      endNames()
      await endHosts()
      for (const it of nodes) await it.stop()
      await cluster.stop()
      await registry[Symbol.asyncDispose]()
    },
  }
}

/** One cluster for all tests of a file, which ends with them. @returns  what gives it to a test */
export function clusterOfFile(): () => TestCluster {
  let tested: TestCluster
  before(async () => {
    if (!noCluster) tested = await testCluster()
  })
  after(async () => {
    if (!noCluster) await tested.stop()
  })
  return () => tested
}
/** A namespace in which the machine has these rights, and no other. @returns  its name */
export async function newNamespace(
  { admin }: TestCluster,
  labels: Record<string, string> = {},
  rules = machineRules,
): Promise<string> {
  const name = `agents-${newId().slice(-12)}`
  await admin.json("/api/v1/namespaces", { method: "POST", body: { metadata: { name, labels } } })
  await grantRights(admin, name, rules)
  await until(() => hasServiceAccount(admin, name), { what: "the cluster has made the account that pods use" })
  return name
}

/** Pods of a namespace are refused until its account `default` is there. */
async function hasServiceAccount(admin: Cluster, namespace: string): Promise<boolean> {
  const { body } = await admin.json<{ items: KubernetesObject[] }>(`/api/v1/namespaces/${namespace}/serviceaccounts`)
  return body.items.some(({ metadata }) => metadata.name === "default")
}

export interface PlaceOptions {
  readonly lostMs?: number
  readonly log?: Log
  /** By which what a Secret says grows old. */
  readonly clock?: Clock
  /** How the machine reaches the API server; that of the test cluster when undefined. */
  readonly cluster?: Cluster
  /** Awaited before an object is applied at a path. */
  readonly beforeApply?: (path: string) => Promise<void>
}

export async function kubernetesPlace(tested: TestCluster, options: PlaceOptions = {}) {
  const { lostMs, clock, log = silent, beforeApply, cluster: user = tested.machine } = options
  const [folder, project] = [temporaryFolder(), temporaryFolder()]
  const artifactId = "artifact"
  for (const [name, content] of Object.entries(projectFiles)) writeFileSync(join(project, name), content)
  const homeId = newId()
  const namespace = await newNamespace(tested)
  const owned = ownedObjects(user, homeId)
  const objects: OwnedObjects = {
    ...owned,
    apply: async (path, object) => {
      await beforeApply?.(path)
      return owned.apply(path, object)
    },
  }
  const registry = registryAt({ origin: tested.registry.origin })
  const store = artifactStore({
    registry,
    target: { host: tested.host, repository: "agents" },
    folder: temporaryFolder(),
    homeId,
    log: silent,
  })
  await store.put(artifactId, project, { configEnv: {} })
  const base = parseReference(tested.baseImage)
  const { digest } = await findImage(registry, base)
  const imageOf = unitImages({
    store,
    baseRegistry: registry,
    base: { ...base, digest },
    runtime,
    layout: tested.layout,
    log: silent,
  })
  const units = ({ folder: ownFolder = folder }: { readonly folder?: string } = {}) =>
    kubernetesUnits({
      cluster: user,
      objects,
      homeId,
      namespace,
      platformNamespace: namespace,
      pullSecret: undefined,
      folder: ownFolder,
      imageOf,
      ...(lostMs !== undefined && { lostMs }),
      ...(clock && { clock }),
      log,
      environment: { SUPERSTEP_MASTER_KEY: "key", DATABASE_URI: "postgres://platform" },
    })
  /** As the server has it, and not as a watch shows it. */
  const podOf = async (unitId: string) => objects.find<Pod>(pathsIn(namespace).pods, nameOf(unitId))
  const pidOf = async (unitId: string) => tested.pidOf((await podOf(unitId))?.metadata.uid ?? "")
  // As in its pod, which does not run as root.
  const controlUser = { uid: 65_534, gid: 65_534 }
  return { folder, homeId, namespace, artifactId, controlUser, objects, units, podOf, pidOf }
}
