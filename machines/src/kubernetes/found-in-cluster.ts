/** What an installation has in a cluster, for programs that only find and stop it. */
import type { MachineFolders } from "../parts/files/folders.js"
import type { FindInput } from "../parts/machine-kind.js"
import type { MachineNote } from "../port/machine-note.js"
import type { Units } from "../port/port.js"
import { jobEnds } from "./cluster/job-ends.js"
import { openCluster } from "./cluster/open-cluster.js"
import { ownedObjects } from "./cluster/owned-objects.js"
import { kubernetesUnits } from "./units.js"

/**
 * @returns  units that cannot be started
 * @throws NoAccess
 */
export async function foundInCluster(
  folders: Pick<MachineFolders, "units">,
  { homeId, log, environment }: Pick<FindInput, "homeId" | "log" | "environment">,
  { kubeconfig, agentsNamespace }: MachineNote,
): Promise<{ readonly units: Units; stopBuilds(): Promise<void>; close(): Promise<void> }> {
  const opened = await openCluster({ kubeconfig, namespace: agentsNamespace }, environment)
  const objects = ownedObjects(opened.cluster, homeId)
  const jobs = jobEnds(objects, opened.namespace)
  return {
    units: kubernetesUnits({
      ...opened,
      objects,
      homeId,
      pullSecret: undefined,
      folder: folders.units,
      imageOf: () => Promise.reject(new Error("these units are only found and stopped")),
      environment: {},
      log,
    }),
    stopBuilds: async () => void (await Promise.all((await jobs.list()).map(jobs.end))),
    close: objects.close,
  }
}
