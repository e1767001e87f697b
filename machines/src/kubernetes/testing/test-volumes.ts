/** The volumes of a pod of the test node as folders of this computer, and the files by which its containers say why they ended. */
import { chmodSync, chownSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { until } from "@superstep/toolkit/testing/until"
import type { Cluster } from "../cluster/cluster.js"
import type { Metadata } from "../cluster/objects.js"
import type { LogLine, Mount } from "./test-container.js"

export interface Volume {
  readonly name: string
  readonly secret?: {
    readonly secretName: string
    readonly items?: readonly { readonly key: string; readonly path: string }[]
  }
  readonly projected?: { readonly sources: readonly Source[] }
}

/** What a pod with a service account has. */
interface Source {
  readonly serviceAccountToken?: { readonly path: string; readonly expirationSeconds: number }
  readonly configMap?: { readonly name: string }
  readonly downwardAPI?: { readonly items: readonly { readonly path: string; readonly fieldRef: object }[] }
}

export interface VolumePlace {
  readonly admin: Cluster
  /** Of the pod. */
  readonly metadata: Metadata
  readonly serviceAccount: string
  readonly volume: Volume | undefined
  readonly group: number
  /** Whether the pod is to end, so that nobody needs its volumes any more. */
  readonly isEnding: () => boolean
}

/** @returns  the path, with what a Secret has in it; any other volume is an empty folder that the pod's group may write to */
export async function fillVolume(path: string, place: VolumePlace): Promise<string> {
  const { admin, metadata, volume, group, isEnding } = place
  const { namespace } = metadata
  mkdirSync(path, { recursive: true })
  if (volume?.projected) {
    for (const source of volume.projected.sources) await project(path, source, place)
    return path
  }
  if (!volume?.secret) {
    chownSync(path, 0, group)
    chmodSync(path, 0o2777)
    return path
  }
  const { secretName, items } = volume.secret
  // A pod waits for its Secrets.
  const body = await until(
    async () => {
      if (isEnding()) return { data: {} }
      const at = `/api/v1/namespaces/${namespace}/secrets/${secretName}`
      const found = await admin.json<{ data: Record<string, string> }>(at, { also: [404] })
      return found.status === 200 && found.body
    },
    { what: `there is a Secret ${secretName}`, timeoutMs: 300_000 },
  )
  for (const { key, path: file } of items ?? Object.keys(body.data).map((key) => ({ key, path: key })))
    writeFileSync(join(path, file), Buffer.from(body.data[key] ?? "", "base64"))
  return path
}

async function project(path: string, source: Source, { admin, metadata, serviceAccount }: VolumePlace): Promise<void> {
  const at = `/api/v1/namespaces/${metadata.namespace}`
  const { serviceAccountToken, configMap, downwardAPI } = source
  if (serviceAccountToken) {
    const boundObjectRef = { apiVersion: "v1", kind: "Pod", name: metadata.name, uid: metadata.uid }
    const spec = { expirationSeconds: serviceAccountToken.expirationSeconds, boundObjectRef }
    const { body } = await admin.json<{ status: { token: string } }>(`${at}/serviceaccounts/${serviceAccount}/token`, {
      method: "POST",
      body: { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec },
    })
    writeFileSync(join(path, serviceAccountToken.path), body.status.token)
  }
  if (configMap) {
    // A controller writes that of the cluster's authority into each new namespace.
    const found = await until(
      async () => {
        const reply = await admin.json<{ data: Record<string, string> }>(`${at}/configmaps/${configMap.name}`, {
          also: [404],
        })
        return reply.status === 200 && reply.body
      },
      { what: `there is a ConfigMap ${configMap.name}` },
    )
    for (const [key, text] of Object.entries(found.data)) writeFileSync(join(path, key), text)
  }
  // Of the fields only the namespace is asked for.
  for (const { path: file } of downwardAPI?.items ?? []) writeFileSync(join(path, file), metadata.namespace ?? "")
}

const fileOf = (folder: string, container: string) => join(folder, `${container}.termination`)

/** Where a container writes why it ends. */
export function terminationFile(folder: string, container: string): Mount & { readonly readOnly: boolean } {
  const from = fileOf(folder, container)
  mkdirSync(folder, { recursive: true })
  writeFileSync(from, "")
  chmodSync(from, 0o666)
  return { from, to: "/dev/termination-log", readOnly: false }
}

// As a kubelet has it.
const most = { messageBytes: 4096, logLines: 80, logBytes: 2048 }

/** What the container has written; else, when it failed, the end of its log, as with `FallbackToLogsOnError`. */
export function terminationMessage(
  folder: string,
  container: string,
  exitCode: number,
  lines: readonly LogLine[],
): string {
  const written = readFileSync(fileOf(folder, container)).subarray(0, most.messageBytes).toString()
  if (written !== "" || exitCode === 0) return written
  const log = lines.slice(-most.logLines).map(({ text }) => `${text}\n`)
  return Buffer.from(log.join("")).subarray(-most.logBytes).toString()
}
