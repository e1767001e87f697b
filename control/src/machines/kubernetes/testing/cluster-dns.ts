/** The parts of the cluster's DNS and of kube-proxy for this process: the name of a Service leads to its pod. */
import dns from "node:dns"
import type { Cluster } from "../cluster.js"

interface Service {
  readonly spec: { readonly selector: Readonly<Record<string, string>> }
}
interface Pods {
  readonly items: readonly {
    readonly metadata: { readonly deletionTimestamp?: string }
    readonly status: { readonly phase: string; readonly podIP?: string }
  }[]
}

/** @returns  a function that ends it */
export function resolveServices(admin: Cluster): () => void {
  const { lookup } = dns
  const resolve = async (name: string, namespace: string): Promise<string> => {
    const at = `/api/v1/namespaces/${namespace}`
    const service = await admin.json<Service>(`${at}/services/${name}`, { also: [404] })
    if (service.status === 404) throw Object.assign(new Error(`no service ${name}`), { code: "ENOTFOUND" })
    const labelSelector = Object.entries(service.body.spec.selector)
      .map((it) => it.join("="))
      .join()
    const { body } = await admin.json<Pods>(`${at}/pods`, { query: { labelSelector } })
    const found = body.items.find(({ status }) => status.phase === "Running")?.status.podIP
    // What a connection to a Service without a pod gets.
    if (found === undefined) throw Object.assign(new Error(`no pod of ${name}`), { code: "ECONNREFUSED" })
    return found
  }
  type Callback = (error: Error | null, address?: unknown, family?: number) => void
  const replaced = (host: string, options: dns.LookupAllOptions, callback: Callback) => {
    const [, name, namespace] = /^([^.]+)\.([^.]+)\.svc$/.exec(host) ?? []
    if (name === undefined || namespace === undefined) return lookup(host, options, callback)
    resolve(name, namespace).then(
      (address) => (options.all ? callback(null, [{ address, family: 4 }]) : callback(null, address, 4)),
      (error: Error) => callback(error),
    )
  }
  dns.lookup = replaced as typeof dns.lookup
  return () => {
    dns.lookup = lookup
  }
}
