/** The pods of an installation, for programs that only find and stop them. */
import type { Log } from "@superstep/toolkit/log/log"
import type { MachineNote } from "../machine-note.js"
import type { Units } from "../port.js"
import type { MachineFolders } from "../process/folders.js"
import { openCluster } from "./open-cluster.js"
import { ownedObjects } from "./owned-objects.js"
import { kubernetesUnits } from "./units.js"

/**
 * @returns  units that cannot be started
 * @throws NoAccess
 */
export async function foundKubernetesUnits(
  folders: Pick<MachineFolders, "units">,
  { homeId, log }: { readonly homeId: string; readonly log: Log },
  { kubeconfig, agentsNamespace }: MachineNote,
): Promise<Units> {
  const opened = await openCluster({ kubeconfig, namespace: agentsNamespace }, {})
  return kubernetesUnits({
    ...opened,
    objects: ownedObjects(opened.cluster, homeId),
    homeId,
    pullSecret: undefined,
    folder: folders.units,
    imageOf: () => Promise.reject(new Error("these units are only found and stopped")),
    environment: {},
    log,
  })
}
