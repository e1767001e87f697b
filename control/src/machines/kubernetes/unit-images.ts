/**
 * The images of units: the base, our server, and the layers of an artefact. All layers are in the registry already, so a new release of ours, or
 * a new base, sends its own layer once and a document for each artefact.
 */
import { createHash } from "node:crypto"
import { KnownError } from "@superstep/toolkit/errors/errors"
import type { Log } from "@superstep/toolkit/log/log"
import type { Layer } from "../images/image.js"
import type { Layout } from "../images/layout.js"
import { imageOf, type Runtime } from "../images/project-image.js"
import type { Registry } from "../images/registry/client.js"
import { findImage, readBlob } from "../images/registry/pull.js"
import { pushImage } from "../images/registry/push.js"
import type { Reference } from "../images/registry/reference.js"
import type { Part } from "../images/tree-entries.js"
import type { ArtifactStore, StoredArtifact } from "./artifact-store.js"

/** The registry has no such artefact any more. */
export class ArtifactGone extends KnownError {
  readonly code = "artifact_gone"
  constructor(artifactId: string, place: string) {
    super(`${place} has no artefact ${artifactId}: deploy the revision again, so that it is built`)
  }
}

export interface UnitImage {
  /** With its digest. */
  readonly reference: string
  readonly configEnv: Readonly<Record<string, string>>
}

export interface UnitImagesOptions {
  readonly store: ArtifactStore
  readonly baseRegistry: Registry
  /** The image that was looked into; its registry is asked only when an image is made. */
  readonly base: Pick<Reference, "host" | "repository"> & { readonly digest: string }
  readonly runtime: { readonly parts: readonly Part[]; readonly entry: string }
  /** Contains the runtime's layer. */
  readonly layout: Layout
  readonly log: Log
}

/** @returns  a function that gives the image of an artefact, made where the registry lacks it */
export function unitImages(options: UnitImagesOptions): (artifactId: string) => Promise<UnitImage> {
  const { store, baseRegistry, base, layout, log } = options
  const { registry, target } = store
  const { repository, digest: version } = base
  const remoteBase = untilKnown(() => findImage(baseRegistry, { repository, version }))
  const ownLayer = untilKnown(() => layout.addLayer(options.runtime.parts))

  const make = async (artifactId: string, tag: string, { layers }: StoredArtifact) => {
    const [remote, layer] = await Promise.all([remoteBase(), ownLayer()])
    const runtime: Runtime = { layer, entry: options.runtime.entry }
    const begun = performance.now()
    const ofBase = new Set(remote.base.layers.map(({ blob }) => blob.digest))
    const pushed = await pushImage({
      registry,
      repository: target.repository,
      version: tag,
      image: imageOf({ base: remote.base, runtime, layers, labels: store.labelsOf(artifactId) }),
      read: (digest, from) =>
        ofBase.has(digest) ? readBlob(baseRegistry, base.repository, digest, from) : layout.read(digest, from),
      mountFrom: base.host === target.host ? base.repository : undefined,
    })
    const durationMs = Math.round(performance.now() - begun)
    log.info({ artifact_id: artifactId, ...pushed, duration_ms: durationMs }, "image pushed")
    return pushed.digest
  }
  return async (artifactId) => {
    const place = `${target.host}/${target.repository}`
    const [layer, stored] = await Promise.all([ownLayer(), store.find(artifactId)])
    if (!stored) throw new ArtifactGone(artifactId, place)
    const tag = store.tagOf(artifactId, madeOf(base.digest, layer, stored))
    const digest = (await store.digestOf(tag)) ?? (await make(artifactId, tag, stored))
    return { reference: `${place}@${digest}`, configEnv: stored.configEnv }
  }
}

/** Changes with the base, with our release, and with schemas that are added. Pure. */
const madeOf = (baseDigest: string, { diffId }: Layer, { digest }: StoredArtifact): string =>
  createHash("sha256").update(baseDigest).update(diffId).digest("hex").slice(0, 6) + digest.slice(-6)

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
