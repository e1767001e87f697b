/**
 * The images of units: the base, our server, and the layers of an artefact. All layers are in the registry already, so a new release of ours, or
 * a new base, sends its own layer once and a document for each artefact.
 */
import { createHash } from "node:crypto"
import { KnownError } from "@superstep/toolkit/errors/errors"
import type { Log } from "@superstep/toolkit/log/log"
import type { Layout } from "../images/layout.js"
import { imageOf, type Runtime } from "../images/project-image.js"
import type { Registry } from "../images/registry/client.js"
import { findImage, type RemoteImage, readBlob } from "../images/registry/pull.js"
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
  readonly base: Reference
  readonly runtime: { readonly parts: readonly Part[]; readonly entry: string }
  /** Contains the runtime's layer. */
  readonly layout: Layout
  readonly log: Log
}

interface Shared {
  readonly remote: RemoteImage
  readonly runtime: Runtime
}

/** @returns  a function that gives the image of an artefact, made where the registry lacks it */
export function unitImages(options: UnitImagesOptions): (artifactId: string) => Promise<UnitImage> {
  const { store, baseRegistry, base, layout, log } = options
  const { registry, target } = store
  let shared: Promise<Shared> | undefined

  const readShared = async (): Promise<Shared> => {
    const remote = await findImage(baseRegistry, base)
    const layer = await layout.addLayer(options.runtime.parts)
    return { remote, runtime: { layer, entry: options.runtime.entry } }
  }
  /** Read once; after a failure again. */
  const sharedParts = (): Promise<Shared> => {
    shared ??= readShared().catch((error: unknown) => {
      shared = undefined
      throw error
    })
    return shared
  }
  const make = async (artifactId: string, tag: string, { remote, runtime }: Shared, { layers }: StoredArtifact) => {
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
    const [parts, stored] = await Promise.all([sharedParts(), store.find(artifactId)])
    if (!stored) throw new ArtifactGone(artifactId, place)
    const tag = store.tagOf(artifactId, madeOf(parts, stored))
    const digest = (await store.digestOf(tag)) ?? (await make(artifactId, tag, parts, stored))
    return { reference: `${place}@${digest}`, configEnv: stored.configEnv }
  }
}

/** Changes with the base, with our release, and with schemas that are added. Pure. */
const madeOf = ({ remote, runtime }: Shared, { digest }: StoredArtifact): string =>
  createHash("sha256").update(remote.digest).update(runtime.layer.diffId).digest("hex").slice(0, 6) + digest.slice(-6)
