/** Reads an image in a registry, as the base of others: its documents now, its layers when somebody needs them. */
import { arch } from "node:os"
import { setTimeout as sleep } from "node:timers/promises"
import { type BaseImage, type Descriptor, digestOf, type ImageConfig, type Manifest, mediaTypes } from "../image.js"
import type { Registry } from "./client.js"
import { documentOf } from "./document.js"
import { RegistryFailed } from "./failures.js"

export interface RemoteImage {
  readonly base: BaseImage
  readonly digest: string
}

interface Index {
  readonly manifests: readonly (Descriptor & {
    readonly platform?: { readonly os: string; readonly architecture: string }
  })[]
}

const architectures: Readonly<Record<string, string>> = { x64: "amd64", arm64: "arm64", arm: "arm" }

/** What Go, and so the documents of images, call this computer's architecture. */
export const goArchitecture = (): string => architectures[arch()] ?? arch()

/**
 * @param architecture  as Go names it; this computer's by default
 * @throws RegistryFailed, Unauthenticated
 */
export async function findImage(
  registry: Registry,
  { repository, version }: { readonly repository: string; readonly version: string },
  architecture: string = goArchitecture(),
): Promise<RemoteImage> {
  const accept = [mediaTypes.manifest, mediaTypes.index, mediaTypes.dockerManifest, mediaTypes.dockerIndex].join(", ")
  const documentAt = async (path: string) => {
    const response = await registry.ask(path, { headers: { accept }, expect: [200] })
    return documentOf(response)
  }
  const found = await documentAt(`/v2/${repository}/manifests/${version}`)
  const parsed = JSON.parse(found.toString()) as Manifest | Index
  if ("manifests" in parsed) {
    const fits = parsed.manifests.find(
      ({ platform }) => platform?.os === "linux" && platform.architecture === architecture,
    )
    if (fits) return findImage(registry, { repository, version: fits.digest }, architecture)
    throw new RegistryFailed(`${repository}:${version} has no image for linux/${architecture}`)
  }
  const config = await documentAt(`/v2/${repository}/blobs/${parsed.config.digest}`)
  if (digestOf(config) !== parsed.config.digest)
    throw new RegistryFailed(`${repository}:${version} is damaged: its configuration has another digest`)
  const { rootfs, ...rest } = JSON.parse(config.toString()) as ImageConfig
  const layers = parsed.layers.map((blob, at) => ({ blob, diffId: rootfs.diff_ids[at] ?? "" }))
  return { base: { config: { rootfs, ...rest }, layers }, digest: digestOf(found) }
}

/**
 * The content of a layer in a registry, from a byte on. What breaks off is continued.
 * @throws RegistryFailed
 */
export async function* readBlob(
  registry: Registry,
  repository: string,
  digest: string,
  from: number,
): AsyncGenerator<Uint8Array> {
  let at = from
  for (let failures = 0; ; ) {
    const before = at
    try {
      for await (const bytes of contentOf(registry, repository, digest, at)) {
        at += bytes.length
        yield bytes
      }
      return
    } catch (cause) {
      if (cause instanceof RegistryFailed) throw cause
      failures = at > before ? 0 : failures
      const delayMs = registry.delaysMs[failures++]
      if (delayMs === undefined)
        throw new RegistryFailed(`${registry.origin} breaks off again and again in ${digest}`, undefined, { cause })
      await sleep(delayMs)
    }
  }
}

async function* contentOf(
  registry: Registry,
  repository: string,
  digest: string,
  from: number,
): AsyncGenerator<Uint8Array> {
  const headers: Record<string, string> = from > 0 ? { range: `bytes=${from}-` } : {}
  const response = await registry.ask(`/v2/${repository}/blobs/${digest}`, { headers, expect: [200, 206] })
  let skip = response.status === 200 ? from : 0
  for await (const piece of response.body ?? []) {
    const bytes = piece as Uint8Array
    if (bytes.length > skip) yield bytes.subarray(skip)
    skip = Math.max(0, skip - bytes.length)
  }
}
