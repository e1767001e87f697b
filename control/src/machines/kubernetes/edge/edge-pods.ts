/** Finds the pods of edges, which a Deployment of the chart keeps. */
import type { Log } from "@superstep/toolkit/log/log"
import type { FoundEdge } from "../../edges/edges.js"
import { type Cluster, ClusterFailed } from "../cluster.js"
import { type Pod, pathsIn } from "../objects.js"

export interface EdgePodsOptions {
  readonly cluster: Cluster
  /** Where the platform runs. */
  readonly namespace: string
  /** Labels of the pods, such as `app.kubernetes.io/component=edge`. */
  readonly selector: string
  /** Of the admin API. */
  readonly adminPort: number
  readonly log: Log
}

// Tables and wake calls wait for the list. One that comes later is no better than the last one, if there was one.
const answerMs = 2000

/**
 * @returns  a function that gives all pods that may carry requests. While the API server does not answer, those that it listed last: without it no
 *           pod is added, and one that is gone does not answer
 * @throws ClusterFailed  the server refuses, or has never answered
 */
export function edgePods(options: EdgePodsOptions): () => Promise<readonly FoundEdge[]> {
  const { cluster, namespace, selector, adminPort, log } = options
  let last: readonly FoundEdge[] | undefined
  let isAway = false
  return async () => {
    try {
      const query = { labelSelector: selector }
      const { body } = await cluster.json<{ readonly items: readonly Pod[] }>(pathsIn(namespace).pods, {
        query,
        ...(last && { answerMs }),
      })
      last = body.items.flatMap((pod) => edgeOf(pod, adminPort) ?? [])
      isAway = false
      return last
    } catch (err) {
      if (!(err instanceof ClusterFailed) || err.status !== undefined || last === undefined) throw err
      if (!isAway) log.warn({ err }, "edges are those that the API server listed last")
      isAway = true
      return last
    }
  }
}

/** Pure. @returns  undefined when the pod has no address yet, or has ended */
export function edgeOf({ metadata, status }: Pod, adminPort: number): FoundEdge | undefined {
  const { podIP, phase, conditions = [] } = status ?? {}
  if (podIP === undefined || phase === "Succeeded" || phase === "Failed") return undefined
  const isReady = conditions.some(({ type, status: value }) => type === "Ready" && value === "True")
  return {
    address: `http://${podIP.includes(":") ? `[${podIP}]` : podIP}:${adminPort}`,
    // One that is being deleted is taken from the Service before it is told to stop.
    isReady: isReady && metadata.deletionTimestamp === undefined,
  }
}
