/** The edge of a cluster: pods behind a Service, which get their table from us and ask us to wake deployments. */
import type { Secret } from "@superstep/toolkit/config/settings"
import type { Log } from "@superstep/toolkit/log/log"
import { type Edges, severalEdges } from "../../parts/edges/edges.js"
import { listenForWakeCallsAt } from "../../parts/edges/wake-port.js"
import type { Host } from "../../port/host.js"
import type { Cluster } from "../cluster/cluster.js"
import { type Pod, pathsIn } from "../cluster/objects.js"
import { watchedObjects } from "../cluster/watched-objects.js"
import { edgePods } from "./edge-pods.js"

export interface ClusterEdgesOptions {
  readonly cluster: Cluster
  /** Where the platform runs. */
  readonly namespace: string
  /** See `settings.ts`. */
  readonly settings: {
    readonly edgeToken: Secret
    readonly edgeUrl: string
    readonly edgePods: string
    readonly edgeAdminPort: number
    /** Where edges ask to wake a deployment. */
    readonly wakeHost: string
    readonly wakePort: number
  }
  readonly log: Log
}

export function edgesInCluster({ cluster, namespace, settings, log }: ClusterEdgesOptions): {
  readonly edge: Edges
  readonly listenForWakeCalls: Host["listenForWakeCalls"]
} {
  const {
    edgeToken: token,
    edgeUrl: url,
    edgePods: labelSelector,
    edgeAdminPort: adminPort,
    wakeHost: host,
    wakePort: port,
  } = settings
  const pods = watchedObjects<Pod>({ cluster, path: pathsIn(namespace).pods, labelSelector })
  const edge = severalEdges({ addresses: edgePods({ pods, adminPort, log }), token, url, log })
  return {
    edge: {
      ...edge,
      close: async () => {
        await edge.close()
        await pods.close()
      },
    },
    listenForWakeCalls: (wake) => listenForWakeCallsAt({ host, port }, wake, { log, token }),
  }
}
