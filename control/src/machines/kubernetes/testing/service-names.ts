/** The parts of the cluster's DNS and of kube-proxy for other processes: the names of Services in the hosts file that `.ci/kubernetes/with` gives to tests. */
import { readFileSync, writeFileSync } from "node:fs"
import { setTimeout as sleep } from "node:timers/promises"
import { type Cluster, ClusterFailed } from "../cluster.js"
import { labels, type Pod } from "../objects.js"

const file = process.env.SUPERSTEP_TEST_HOSTS

/** Each running unit's pod under the name of its Service. @returns  a function that ends it */
export function writeServiceNames(admin: Cluster): () => Promise<void> {
  if (file === undefined) return async () => undefined
  const usual = readFileSync(file, "utf8")
  let isStopped = false
  const write = async () => {
    const { body } = await admin.json<{ items: readonly Pod[] }>("/api/v1/pods", {
      query: { labelSelector: labels.unit },
    })
    const lines = body.items.flatMap(({ metadata, status }) =>
      status?.phase === "Running" && status.podIP !== undefined
        ? [`${status.podIP} ${metadata.name}.${metadata.namespace}.svc`]
        : [],
    )
    const text = [usual.trimEnd(), ...lines, ""].join("\n")
    // In place: it is a mounted file.
    if (text !== readFileSync(file, "utf8")) writeFileSync(file, text)
  }
  const loop = (async () => {
    while (!isStopped) {
      // While the API server is away, names stay.
      await write().catch((error: unknown) => {
        if (!(error instanceof ClusterFailed)) throw error
      })
      await sleep(100)
    }
  })()
  return async () => {
    isStopped = true
    await loop
    writeFileSync(file, usual)
  }
}
