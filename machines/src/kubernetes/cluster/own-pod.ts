/** The control plane's own pod. Its label opens the network policies of agents (manifests.ts); without it, they would be unreachable, and nothing would log why. */
import { hostname } from "node:os"
import { KnownError } from "@superstep/toolkit/errors/errors"
import type { Cluster } from "./cluster.js"
import { type Pod, pathsIn, platformLabels } from "./objects.js"

/** The network policies of agents do not admit this pod. */
export class PodNotAdmitted extends KnownError {
  readonly code = "pod_not_admitted"
}

/**
 * @param namespace  of this pod, in which it may list pods
 * @param podName    undefined: the name of this computer, which in a pod is that of the pod unless its manifest says otherwise
 * @throws PodNotAdmitted
 * @throws ClusterFailed
 */
export async function requireAdmitted(
  cluster: Cluster,
  { namespace, podName = hostname() }: { readonly namespace: string; readonly podName: string | undefined },
): Promise<void> {
  const query = { fieldSelector: `metadata.name=${podName}` }
  const { body } = await cluster.json<{ readonly items: readonly Pod[] }>(pathsIn(namespace).pods, { query })
  const [pod] = body.items
  if (!pod)
    throw new PodNotAdmitted(
      `SUPERSTEP_POD_NAME: the namespace ${namespace} has no pod ${podName}; set it to the name of the control plane's pod (fieldRef metadata.name)`,
    )
  const lacking = Object.entries(platformLabels).filter(([name, value]) => pod.metadata.labels?.[name] !== value)
  if (lacking.length > 0)
    throw new PodNotAdmitted(
      `the pod ${podName} lacks the label ${lacking.map(([name, value]) => `${name}: ${value}`).join(", ")}, without which network policies keep it from agents: add it to the template of the control plane's pods, and of the edges'`,
    )
}
