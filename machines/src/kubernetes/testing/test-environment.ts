/** The variables of a container of the test node, as a kubelet makes them. */
import type { Cluster } from "../cluster/cluster.js"
import type { Metadata } from "../cluster/objects.js"

export interface Variable {
  readonly name: string
  readonly value?: string
  readonly valueFrom?: {
    readonly fieldRef?: { readonly fieldPath: string }
    readonly secretKeyRef?: { readonly name: string; readonly key: string }
  }
}

export interface VariablePlace {
  readonly admin: Cluster
  readonly metadata: Metadata
  readonly ip: string
}

export async function environmentOf(env: readonly Variable[], place: VariablePlace): Promise<Record<string, string>> {
  const server = new URL(place.admin.origin)
  const found: Record<string, string> = {
    KUBERNETES_SERVICE_HOST: server.hostname,
    KUBERNETES_SERVICE_PORT: server.port,
  }
  for (const { name, value = "", valueFrom } of env)
    found[name] = valueFrom ? await referred(name, valueFrom, place) : ofOwnNetwork(expand(value, found), place)
  return found
}

/** `$(NAME)` is a variable from above, and `$$` a `$`. */
const expand = (text: string, known: Readonly<Record<string, string>>): string =>
  text.replace(/\$\$|\$\(([A-Za-z_]\w*)\)/g, (all, name?: string) =>
    all === "$$" ? "$" : name !== undefined && name in known ? (known[name] ?? "") : all,
  )

// Pods have no network of their own here: all of them use that of this computer, each with an address of its own.
const ofOwnNetwork = (text: string, { ip }: VariablePlace): string => text.replace(/\b0\.0\.0\.0\b(?!\/)/g, ip)

async function referred(
  variable: string,
  { fieldRef, secretKeyRef }: NonNullable<Variable["valueFrom"]>,
  { admin, metadata, ip }: VariablePlace,
): Promise<string> {
  if (fieldRef?.fieldPath === "status.podIP") return ip
  if (fieldRef?.fieldPath === "metadata.name") return metadata.name
  if (!secretKeyRef) throw new Error(`the test node does not know where ${variable} comes from`)
  const { body } = await admin.json<{ data: Record<string, string> }>(
    `/api/v1/namespaces/${metadata.namespace}/secrets/${secretKeyRef.name}`,
  )
  const data = body.data[secretKeyRef.key]
  if (data === undefined) throw new Error(`the Secret ${secretKeyRef.name} has no ${secretKeyRef.key}`)
  return Buffer.from(data, "base64").toString()
}
