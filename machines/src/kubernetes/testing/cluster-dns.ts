/** The parts of the cluster's DNS and of kube-proxy for this process: the name of a Service leads to its pods. */
import dns from "node:dns"
import type { Cluster } from "../cluster/cluster.js"
import type { Pod } from "../cluster/objects.js"
import { addressesOf, type Service } from "./service-pods.js"

/** @returns  a function that ends it */
export function resolveServices(admin: Cluster): () => void {
  const { lookup } = dns
  const resolve = async (name: string, namespace: string): Promise<readonly string[]> => {
    const at = `/api/v1/namespaces/${namespace}`
    const service = await admin.json<Service>(`${at}/services/${name}`, { also: [404] })
    if (service.status === 404) throw Object.assign(new Error(`no service ${name}`), { code: "ENOTFOUND" })
    const { body } = await admin.json<{ items: readonly Pod[] }>(`${at}/pods`)
    const found = addressesOf(service.body, body.items)
    // What a connection to a Service without a pod gets.
    if (found.length === 0) throw Object.assign(new Error(`no pod of ${name}`), { code: "ECONNREFUSED" })
    return found
  }
  type Callback = (error: Error | null, address?: unknown, family?: number) => void
  const replaced = (host: string, options: dns.LookupAllOptions, callback: Callback) => {
    const [, name, namespace] = /^([^.]+)\.([^.]+)\.svc$/.exec(host) ?? []
    if (name === undefined || namespace === undefined) return lookup(host, options, callback)
    resolve(name, namespace).then(
      (found) => {
        const [address] = found
        options.all
          ? callback(
              null,
              found.map((address) => ({ address, family: 4 })),
            )
          : callback(null, address, 4)
      },
      (error: Error) => callback(error),
    )
  }
  dns.lookup = replaced as typeof dns.lookup
  return () => {
    dns.lookup = lookup
  }
}
