/** Images of artefacts in a registry from which nodes pull: made and sent when the registry lacks them. */
import { createHash } from "node:crypto"
import { rm } from "node:fs/promises"
import type { Log } from "@superstep/toolkit/log/log"
import { mediaTypes } from "../images/image.js"
import type { Layout } from "../images/layout.js"
import { projectImage, type Runtime } from "../images/project-image.js"
import { type Registry, RegistryFailed } from "../images/registry/client.js"
import { findImage, type RemoteImage, readBlob } from "../images/registry/pull.js"
import { pushImage } from "../images/registry/push.js"
import type { Reference } from "../images/registry/reference.js"
import type { Part } from "../images/tree-entries.js"

export interface RegistryImagesOptions {
  /** Where images are sent: one repository for all projects of an installation. */
  readonly registry: Registry
  readonly target: Pick<Reference, "host" | "repository">
  readonly baseRegistry: Registry
  readonly base: Reference
  readonly runtime: { readonly parts: () => Promise<readonly Part[]>; readonly entry: string }
  /** Contains the runtime's layer, and a project's layers while its image is made. */
  readonly layout: Layout
  readonly folderOf: (artifactId: string) => string
  readonly log: Log
}

interface Shared {
  readonly remote: RemoteImage
  readonly runtime: Runtime
}

/** @returns  a function that returns the name of an artefact's image, with its digest */
export function registryImages(options: RegistryImagesOptions): (artifactId: string) => Promise<string> {
  const { registry, target, baseRegistry, base, layout, log } = options
  let shared: Promise<Shared> | undefined
  let last: Promise<unknown> = Promise.resolve()

  const readShared = async (): Promise<Shared> => {
    const remote = await findImage(baseRegistry, base)
    const layer = await layout.addLayer(await options.runtime.parts())
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
  const push = async (artifactId: string, version: string, { remote, runtime }: Shared): Promise<string> => {
    const begun = performance.now()
    const project = options.folderOf(artifactId)
    const labels = { "superstep.artifact": artifactId }
    const image = await projectImage({ base: remote.base, runtime, project, labels, layout })
    const ofBase = new Set(remote.base.layers.map(({ blob }) => blob.digest))
    const pushed = await pushImage({
      registry,
      repository: target.repository,
      version,
      image,
      read: (digest, from) =>
        ofBase.has(digest) ? readBlob(baseRegistry, base.repository, digest, from) : layout.read(digest, from),
      mountFrom: base.host === target.host ? base.repository : undefined,
    })
    const kept = new Set([...ofBase, runtime.layer.blob.digest])
    for (const { blob } of image.layers)
      if (!kept.has(blob.digest)) await rm(layout.pathOf(blob.digest), { force: true })
    const durationMs = Math.round(performance.now() - begun)
    log.info({ artifact_id: artifactId, ...pushed, duration_ms: durationMs }, "image pushed")
    return pushed.digest
  }
  const ensure = async (artifactId: string): Promise<string> => {
    const parts = await sharedParts()
    const version = versionOf(artifactId, parts)
    const found = await registry.ask(`/v2/${target.repository}/manifests/${version}`, {
      method: "HEAD",
      headers: { accept: mediaTypes.manifest },
      expect: [200, 404],
    })
    const present = found.status === 200 ? found.headers.get("docker-content-digest") : undefined
    if (present === null) throw new RegistryFailed(`${target.host} does not tell the digest of ${version}`)
    return `${target.host}/${target.repository}@${present ?? (await push(artifactId, version, parts))}`
  }
  // One after the other: images of one project share layers while they are made.
  return (artifactId) => {
    const done = last.then(() => ensure(artifactId))
    last = done.catch(() => undefined)
    return done
  }
}

/** A tag that changes with the base and with our release, so that an artefact gets a new image after an upgrade. Pure. */
const versionOf = (artifactId: string, { remote, runtime }: Shared): string => {
  const made = createHash("sha256").update(remote.digest).update(runtime.layer.diffId).digest("hex")
  return `${artifactId}-${made.slice(0, 12)}`
}
