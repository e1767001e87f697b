/** The parts of the cluster's DNS and of kube-proxy for other processes: the names of Services in the hosts file that `.ci/kubernetes` gives to tests. */
import { spawnSync } from "node:child_process"
import { setTimeout as sleep } from "node:timers/promises"
import { type Cluster, ClusterFailed } from "../cluster/cluster.js"
import type { Pod } from "../cluster/objects.js"
import { addressesOf, type Service } from "./service-pods.js"

const file = process.env.SUPERSTEP_TEST_HOSTS

// Test files that run at the same time have clusters of their own, and share the hosts file: each replaces its own lines. In place, since
// it is a mounted file, and by one write, since others read it at any time.
const replaceLines = 'text=$(grep -v " # $1\\$" "$0"; cat); printf "%s\\n" "$text" >"$0"'

/** The pods of each Service under its name. @returns  a function that ends it */
export function writeServiceNames(admin: Cluster): () => Promise<void> {
  if (file === undefined) return async () => undefined
  const mark = `pods of ${process.pid}`
  let written = ""
  const replace = (text: string) => {
    if (text === written) return
    const { status, stderr } = spawnSync("flock", [file, "sh", "-c", replaceLines, file, mark], { input: text })
    if (status !== 0) throw new Error(`the hosts file cannot be written: ${stderr}`)
    written = text
  }
  let isStopped = false
  const write = async () => {
    const list = async <T>(kind: string) => (await admin.json<{ items: readonly T[] }>(`/api/v1/${kind}`)).body.items
    const [services, pods] = await Promise.all([list<Service>("services"), list<Pod>("pods")])
    const lines = services.flatMap((service) => {
      const { name, namespace } = service.metadata
      return addressesOf(service, pods).map((address) => `${address} ${name}.${namespace}.svc # ${mark}\n`)
    })
    replace(lines.join(""))
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
    replace("")
  }
}
