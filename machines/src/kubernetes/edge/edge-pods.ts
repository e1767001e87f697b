/** Finds the pods of edges, which a Deployment of the chart keeps, and a watch shows. */
import { pause } from "@superstep/toolkit/exec/pause"
import type { Log } from "@superstep/toolkit/log/log"
import type { FoundEdge } from "../../parts/edges/edges.js"
import { ClusterFailed } from "../cluster/cluster.js"
import type { Pod } from "../cluster/objects.js"
import type { WatchedObjects } from "../cluster/watched-objects.js"

export interface EdgePodsOptions {
  readonly pods: Pick<WatchedObjects<Pod>, "list">
  /** Of the admin API. */
  readonly adminPort: number
  readonly log: Log
}

// Tables and wake calls wait for the list while the watch begins again. After this time the last one does: what it lacks is found by the next.
const patienceMs = 2000

/**
 * @returns  a function that gives all pods that may carry requests; while the API server does not answer in time, those that it showed last
 * @throws ClusterFailed  the server refuses, or has never answered
 */
export function edgePods(options: EdgePodsOptions): () => Promise<readonly FoundEdge[]> {
  const { pods, adminPort, log } = options
  let last: readonly FoundEdge[] | undefined
  let listing: Promise<readonly FoundEdge[]> | undefined
  let isLate = false
  const list = async () => {
    const found = await pods.list()
    isLate = false
    last = found.flatMap((pod) => edgeOf(pod, adminPort) ?? [])
    return last
  }
  return async () => {
    listing ??= list().finally(() => {
      listing = undefined
    })
    if (last === undefined) return listing
    const over = new AbortController()
    const found = await Promise.race([
      listing.catch(undefinedIfAway),
      pause(patienceMs, over.signal).then(() => undefined),
    ]).finally(() => over.abort())
    if (found) return found
    if (!isLate) log.warn("the API server does not show edges in time: they are those that it showed last")
    isLate = true
    return last
  }
}

function undefinedIfAway(error: unknown): undefined {
  if (!(error instanceof ClusterFailed) || error.status !== undefined) throw error
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
