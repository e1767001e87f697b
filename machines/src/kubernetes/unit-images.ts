/**
 * The images of units: the base, our server, and the layers of an artifact. All layers are in the registry already, so a new release of ours, or
 * a new base, sends its own layer once and a document for each artifact.
 */
import { createHash } from "node:crypto"
import type { Layer } from "@superstep/oci/image"
import { imageOf } from "@superstep/oci/project-image"
import type { ArtifactStore, StoredArtifact } from "@superstep/oci/registry/artifact-store"
import { type ImageSenderOptions, imageSender } from "@superstep/oci/registry/image-sender"
import type { Part } from "@superstep/oci/tree-entries"
import { KnownError } from "@superstep/toolkit/errors/errors"
import type { Log } from "@superstep/toolkit/log/log"

/** The registry has no such artifact any more. */
export class ArtifactGone extends KnownError {
  readonly code = "artifact_gone"
  constructor(artifactId: string, place: string) {
    super(`${place} has no artifact ${artifactId}: deploy the revision again, so that it is built`)
  }
}

export interface UnitImage {
  /** With its digest. */
  readonly reference: string
  readonly configEnv: Readonly<Record<string, string>>
}

export interface UnitImagesOptions extends ImageSenderOptions {
  readonly store: ArtifactStore
  readonly runtime: { readonly parts: readonly Part[]; readonly entry: string }
  readonly log: Log
}

/** @returns  a function that gives the image of an artifact, made where the registry lacks it */
export function unitImages(options: UnitImagesOptions): (artifactId: string) => Promise<UnitImage> {
  const { store, base, log } = options
  const { target } = store
  const sender = imageSender(options)

  const make = async (artifactId: string, tag: string, { layers }: StoredArtifact) => {
    const labels = store.labelsOf(artifactId)
    const pushed = await sender.send(tag, (base, layer) =>
      imageOf({ base, runtime: { layer, entry: options.runtime.entry }, layers, labels }),
    )
    log.info({ artifact_id: artifactId, ...pushed }, "image pushed")
    // Asked for: what the registry has told is known while it is away.
    return (await store.digestOf(tag)) ?? pushed.digest
  }
  return async (artifactId) => {
    const place = `${target.host}/${target.repository}`
    const [layer, stored] = await Promise.all([sender.ownLayer(), store.find(artifactId)])
    if (!stored) throw new ArtifactGone(artifactId, place)
    const tag = store.tagOf(artifactId, madeOf(base.digest, layer, stored))
    const digest = (await store.digestOf(tag)) ?? (await make(artifactId, tag, stored))
    return { reference: `${place}@${digest}`, configEnv: stored.configEnv }
  }
}

/** Changes with the base, with our release, and with schemas that are added. Pure. */
const madeOf = (baseDigest: string, { diffId }: Layer, { digest }: StoredArtifact): string =>
  createHash("sha256").update(baseDigest).update(diffId).digest("hex").slice(0, 6) + digest.slice(-6)
