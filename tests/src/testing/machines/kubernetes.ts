/**
 * Agents in pods of a real API server, with a real registry; nodes are played by the test process. Control plane and edge run beside the
 * cluster, as root, and reach the Services by name.
 */
import { AsyncResource } from "node:async_hooks"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { after } from "node:test"
import { labels, type Pod, pathsIn } from "@superstep/control/machines/kubernetes/objects"
import { ownedObjects } from "@superstep/control/machines/kubernetes/owned-objects"
import {
  newNamespace,
  noCluster,
  type TestCluster,
  testCluster,
} from "@superstep/control/machines/kubernetes/testing/place"
import type { MachineOfTests } from "./port.js"

export interface KubernetesOfTests extends MachineOfTests {
  readonly cluster: TestCluster
  readonly namespace: string
}

// Registers a hook of the file, also from within a test.
const afterFile = AsyncResource.bind(after)

/** Pods see them, since the databases of installations listen on sockets there. */
const homes: string[] = []
let started: Promise<TestCluster> | undefined

/** One for all installations of a test file. */
async function clusterOfFile(): Promise<TestCluster> {
  if (noCluster) throw new Error(`no cluster: ${noCluster}`)
  if (!process.env.SUPERSTEP_TEST_HOSTS) throw new Error("no names of Services: .ci/kubernetes prepares them")
  const cluster = await testCluster({ shared: homes })
  afterFile(() => cluster.stop())
  return cluster
}

export async function kubernetesOfTests(home: string): Promise<KubernetesOfTests> {
  homes.push(home)
  started ??= clusterOfFile()
  const cluster = await started
  const namespace = await newNamespace(cluster)
  const { pods, secrets, policies } = pathsIn(namespace)
  // Asked as an administrator: the machine itself may not list secrets. The installation writes its id at its first start.
  const owned = () => ownedObjects(cluster.admin, readFileSync(join(home, "id"), "utf8"))
  return {
    cluster,
    namespace,
    env: {
      SUPERSTEP_MACHINE: "kubernetes",
      SUPERSTEP_KUBECONFIG: cluster.kubeconfig,
      SUPERSTEP_KUBERNETES_NAMESPACE: namespace,
      SUPERSTEP_REGISTRY: `${cluster.host}/agents`,
      SUPERSTEP_BASE_IMAGE: cluster.baseImage,
    },
    running: async () =>
      (await owned().list<Pod>(pods))
        .filter(({ status, metadata }) => status?.phase === "Running" && metadata.deletionTimestamp === undefined)
        .map(({ metadata }) => ({ unitId: metadata.labels?.[labels.unit] ?? "", life: metadata.uid ?? "" })),
    kill: async ({ life }) => void process.kill(cluster.pidOf(life), "SIGKILL"),
    // A Service is the address of a unit, which outlives its pods.
    leftovers: async () => {
      const found = await Promise.all(
        Object.entries({ pods, secrets, policies }).map(async ([kind, path]) =>
          (await owned().list(path)).map(({ metadata }) => `${kind} ${metadata.name}`),
        ),
      )
      return found.flat()
    },
  }
}
