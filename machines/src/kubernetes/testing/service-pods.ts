/** The pods behind Services, which a cluster's network would find: kube-proxy is played by names that lead to pods. */
import type { KubernetesObject, Pod } from "../cluster/objects.js"

export interface Service extends KubernetesObject {
  readonly spec: {
    /** One without is not for pods. */
    readonly selector?: Readonly<Record<string, string>>
    readonly publishNotReadyAddresses?: boolean
  }
}

/** @returns  the addresses of the pods that get the connections of a Service. Pure */
export function addressesOf({ metadata, spec }: Service, pods: readonly Pod[]): readonly string[] {
  const { selector, publishNotReadyAddresses = false } = spec
  if (!selector) return []
  const isChosen = ({ metadata: { namespace, labels = {} } }: Pod) =>
    namespace === metadata.namespace && Object.entries(selector).every(([name, value]) => labels[name] === value)
  const isReady = ({ metadata: { deletionTimestamp }, status }: Pod) =>
    publishNotReadyAddresses ||
    (deletionTimestamp === undefined &&
      status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") === true)
  return pods.flatMap((pod) => {
    const { status } = pod
    const isThere = status?.phase === "Running" && status.podIP !== undefined
    return isThere && isChosen(pod) && isReady(pod) ? [status.podIP as string] : []
  })
}
