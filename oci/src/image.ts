/** An OCI image: its documents, and how layers are appended to a base. Pure. */
import { createHash } from "node:crypto"

export const mediaTypes = {
  index: "application/vnd.oci.image.index.v1+json",
  manifest: "application/vnd.oci.image.manifest.v1+json",
  config: "application/vnd.oci.image.config.v1+json",
  layer: "application/vnd.oci.image.layer.v1.tar",
  // What older registries and engines call the same things.
  dockerIndex: "application/vnd.docker.distribution.manifest.list.v2+json",
  dockerManifest: "application/vnd.docker.distribution.manifest.v2+json",
} as const

/** `sha256:` and 64 hexadecimal digits. */
export type Digest = string

export interface Descriptor {
  readonly mediaType: string
  readonly digest: Digest
  readonly size: number
}

/** Of a layer: the digest of its archive before compression, which an engine knows it by. */
export interface Layer {
  readonly blob: Descriptor
  readonly diffId: Digest
}

export interface ProcessConfig {
  readonly Env?: readonly string[]
  readonly Entrypoint?: readonly string[]
  readonly Cmd?: readonly string[]
  readonly WorkingDir?: string
  readonly User?: string
  readonly Labels?: Readonly<Record<string, string>>
}

export interface ImageConfig {
  readonly architecture: string
  readonly os: string
  readonly variant?: string
  readonly config?: ProcessConfig
  readonly rootfs: { readonly type: "layers"; readonly diff_ids: readonly Digest[] }
}

export interface Manifest {
  readonly schemaVersion: 2
  readonly mediaType?: string
  readonly config: Descriptor
  readonly layers: readonly Descriptor[]
}

/** What layers are appended to. */
export interface BaseImage {
  readonly config: ImageConfig
  readonly layers: readonly Layer[]
}

/** An image without the content of its layers. */
export interface Image {
  readonly layers: readonly Layer[]
  /** The bytes of the two documents. */
  readonly config: Buffer
  readonly manifest: Buffer
  readonly configDescriptor: Descriptor
  readonly manifestDescriptor: Descriptor
}

/** The same input gives the same digests: no date, and keys in one order. @param process  overlays the base's own */
export function appendLayers(base: BaseImage, layers: readonly Layer[], process: ProcessConfig): Image {
  const all = [...base.layers, ...layers]
  const { architecture, os, variant } = base.config
  const config = document({
    architecture,
    os,
    ...(variant !== undefined && variant !== "" && { variant }),
    config: {
      Env: process.Env ?? base.config.config?.Env ?? [],
      WorkingDir: process.WorkingDir ?? "/",
      Entrypoint: process.Entrypoint ?? [],
      Cmd: process.Cmd ?? [],
      ...(process.User !== undefined && { User: process.User }),
      Labels: Object.fromEntries(Object.entries(process.Labels ?? {}).toSorted()),
    },
    rootfs: { type: "layers", diff_ids: all.map(({ diffId }) => diffId) },
  } satisfies ImageConfig)
  const configDescriptor = describe(config, mediaTypes.config)
  const manifest = document({
    schemaVersion: 2,
    mediaType: mediaTypes.manifest,
    config: configDescriptor,
    layers: all.map(({ blob }) => ({ ...blob, mediaType: ociLayerType(blob.mediaType) })),
  } satisfies Manifest)
  return {
    layers: all,
    config,
    manifest,
    configDescriptor,
    manifestDescriptor: describe(manifest, mediaTypes.manifest),
  }
}

const document = (value: unknown): Buffer => Buffer.from(JSON.stringify(value))

export const describe = (bytes: Buffer, mediaType: string): Descriptor => ({
  mediaType,
  digest: digestOf(bytes),
  size: bytes.length,
})

export const digestOf = (bytes: Uint8Array): Digest => `sha256:${createHash("sha256").update(bytes).digest("hex")}`

/** The bytes are the same in both formats, and a manifest of one format names only types of its own. */
const ociLayerType = (mediaType: string): string =>
  mediaType === "application/vnd.docker.image.rootfs.diff.tar.gzip" ? `${mediaTypes.layer}+gzip` : mediaType
