/** The cluster that the settings name. */
import { KnownError } from "@superstep/toolkit/errors/errors"
import { accessInCluster } from "./access.js"
import { type Cluster, clusterAt } from "./cluster.js"
import { accessByKubeconfig } from "./kubeconfig.js"

export interface ClusterSettings {
  /** Undefined in a pod with a service account. */
  readonly kubeconfig?: string | undefined
  /** Where units are; undefined for the namespace of this pod. */
  readonly namespace?: string | undefined
  /** Where this pod has what its service account needs; undefined for the usual place. */
  readonly accountFolder?: string | undefined
}

/** A setting that the machine needs is missing. */
export class IncompleteSettings extends KnownError {
  readonly code = "incomplete_settings"
}

/** @throws NotInCluster, UnusableKubeconfig, IncompleteSettings */
export async function openCluster(
  { kubeconfig, namespace, accountFolder }: ClusterSettings,
  environment: NodeJS.ProcessEnv,
): Promise<{ readonly cluster: Cluster; readonly namespace: string; readonly platformNamespace: string }> {
  if (kubeconfig === undefined) {
    const found = await accessInCluster(environment, accountFolder)
    return {
      cluster: clusterAt(found.access),
      namespace: namespace ?? found.namespace,
      platformNamespace: found.namespace,
    }
  }
  if (namespace === undefined)
    throw new IncompleteSettings("SUPERSTEP_KUBERNETES_NAMESPACE: set it, since a kubeconfig is used")
  return {
    cluster: clusterAt(await accessByKubeconfig(kubeconfig, environment)),
    namespace,
    platformNamespace: namespace,
  }
}
