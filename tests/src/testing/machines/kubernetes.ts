/**
 * Agents in pods of a real API server, with a real registry; nodes are played by the test process. Control plane and edge run beside the
 * cluster, as root, and reach the Services by name.
 */
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { newNamespace, type TestCluster } from "@superstep/machines/kubernetes/testing/place"
import { clusterOfFile } from "./cluster-of-file.js"
import type { MachineOfLocalPlatform } from "./port.js"
import { unitsInCluster } from "./units-in-cluster.js"

export interface KubernetesOfTests extends MachineOfLocalPlatform {
  readonly cluster: TestCluster
  readonly namespace: string
}

/** Pods see them, since the databases of installations listen on sockets there. */
const homes: string[] = []

export async function kubernetesOfTests(home: string): Promise<KubernetesOfTests> {
  homes.push(home)
  const cluster = await clusterOfFile(homes)
  const namespace = await newNamespace(cluster)
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
    // The installation writes its id at its first start.
    ...unitsInCluster({ cluster, namespace, installationId: () => readFile(join(home, "id"), "utf8") }),
  }
}
