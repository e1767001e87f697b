/** How many questions about objects an API server has got, by its own count. Watches do not count: a quiet one is opened again after 90 s. */
import type { Cluster } from "../cluster/cluster.js"

const asked = /^apiserver_request_total\{(.*)\} (\d+)$/gm

/**
 * @returns  the sum of all gets and lists of single objects or namespaces, by kinds of which an installation has some. Controllers, scheduler
 *           and the test node ask for those of the whole cluster
 */
export async function requestsSeen(admin: Cluster): Promise<number> {
  let sum = 0
  for (const [, labels = "", count] of (await admin.text("/metrics")).matchAll(asked)) {
    const has = (name: string, values: string) => new RegExp(`(^|,)${name}="(${values})"`).test(labels)
    if (
      has("resource", "pods|services|secrets|jobs") &&
      has("verb", "GET|LIST|CONNECT") &&
      has("scope", "namespace|resource")
    )
      sum += Number(count)
  }
  return sum
}
