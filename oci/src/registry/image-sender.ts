/** Sends images that consist of the base, a layer of our programs, and layers that are in the registry or come with them. */
import type { BaseImage, Digest, Image, Layer } from "../image.js"
import type { Layout } from "../layout.js"
import type { Part } from "../tree-entries.js"
import type { ArtifactStore } from "./artifact-store.js"
import type { Registry } from "./client.js"
import { findImage, readBlob } from "./pull.js"
import { type Pushed, pushImage } from "./push.js"
import type { Reference } from "./reference.js"

export interface ImageSenderOptions {
  readonly store: Pick<ArtifactStore, "registry" | "target">
  readonly baseRegistry: Registry
  /** The image that was looked into; its registry is asked only when an image is made. */
  readonly base: Pick<Reference, "host" | "repository"> & { readonly digest: string }
  /** Our programs. */
  readonly runtime: { readonly parts: readonly Part[] }
  /** Contains the layer of our programs. */
  readonly layout: Layout
}

export interface ImageSender {
  /** Of our programs. */
  ownLayer(): Promise<Layer>
  /**
   * @param make  gets the base and the layer of our programs
   * @param read  the content of further layers that the registry may lack
   */
  send(
    tag: string,
    make: (base: BaseImage, own: Layer) => Image,
    read?: (digest: Digest, from: number) => AsyncIterable<Uint8Array>,
  ): Promise<Pushed & { readonly duration_ms: number }>
}

export function imageSender({ store, baseRegistry, base, runtime, layout }: ImageSenderOptions): ImageSender {
  const { registry, target } = store
  const { repository, digest: version } = base
  const remoteBase = untilKnown(() => findImage(baseRegistry, { repository, version }))
  const ownLayer = untilKnown(() => layout.addLayer(runtime.parts))
  return {
    ownLayer,
    send: async (tag, make, read = layout.read) => {
      const [remote, own] = await Promise.all([remoteBase(), ownLayer()])
      const begun = performance.now()
      const ofBase = new Set(remote.base.layers.map(({ blob }) => blob.digest))
      const reader = (digest: Digest, from: number) => {
        if (ofBase.has(digest)) return readBlob(baseRegistry, repository, digest, from)
        return digest === own.blob.digest ? layout.read(digest, from) : read(digest, from)
      }
      const pushed = await pushImage({
        registry,
        repository: target.repository,
        version: tag,
        image: make(remote.base, own),
        read: reader,
        mountFrom: base.host === target.host ? repository : undefined,
      })
      return { ...pushed, duration_ms: Math.round(performance.now() - begun) }
    },
  }
}

/** Does the work at the first call, and after a failure again. */
function untilKnown<T>(work: () => Promise<T>): () => Promise<T> {
  let known: Promise<T> | undefined
  return () => {
    known ??= work().catch((error: unknown) => {
      known = undefined
      throw error
    })
    return known
  }
}
