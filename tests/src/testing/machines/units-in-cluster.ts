/** The units of an installation as pods, whatever runs its control plane. */
import { labels, type Pod, pathsIn } from "@superstep/machines/kubernetes/cluster/objects"
import { ownedObjects } from "@superstep/machines/kubernetes/cluster/owned-objects"
import type { TestCluster } from "@superstep/machines/kubernetes/testing/place"
import type { MachineOfTests } from "./port.js"

export interface UnitsInClusterOptions {
  readonly cluster: TestCluster
  /** Where units run. */
  readonly namespace: string
  /** Fails before the installation's first start. */
  installationId(): Promise<string>
}

export function unitsInCluster({ cluster, namespace, installationId }: UnitsInClusterOptions): MachineOfTests {
  const { pods, services, secrets, policies } = pathsIn(namespace)
  // Asked as an administrator: the machine itself may not list secrets.
  const owned = async () => ownedObjects(cluster.admin, await installationId())
  const unitOf = ({ metadata }: Pick<Pod, "metadata">): string => metadata.labels?.[labels.unit] ?? ""
  return {
    running: async () =>
      (await (await owned()).list<Pod>(pods))
        .filter(({ status, metadata }) => status?.phase === "Running" && metadata.deletionTimestamp === undefined)
        .map((pod) => ({ unitId: unitOf(pod), life: pod.metadata.uid ?? "" })),
    // A Service is the address of a unit, which outlives its pods.
    present: async () => (await (await owned()).list(services)).map(unitOf),
    kill: async ({ life }) => void process.kill(cluster.pidOf(life), "SIGKILL"),
    leftovers: async () => {
      const objects = await owned()
      const found = await Promise.all(
        Object.entries({ pods, secrets, policies }).map(async ([kind, path]) =>
          (await objects.list(path)).map(({ metadata }) => `${kind} ${metadata.name}`),
        ),
      )
      return found.flat()
    },
  }
}
