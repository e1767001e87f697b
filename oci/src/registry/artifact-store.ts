/**
 * Artifacts in a registry: each is an image with the layers of its project and nothing below them, whose tag is made of the installation's id and
 * the artifact's. Every control plane of the installation has the same artifacts. Other tags of the repository, such as those of another
 * installation, are neither listed nor deleted; our images also differ from theirs in a label, since a registry deletes all tags of an image at once.
 */
import { randomUUID } from "node:crypto"
import { createWriteStream } from "node:fs"
import { mkdir, rm } from "node:fs/promises"
import { join } from "node:path"
import { pipeline } from "node:stream/promises"
import { Recent } from "@superstep/toolkit/collections/recent"
import { Unauthenticated } from "@superstep/toolkit/errors/errors"
import type { Log } from "@superstep/toolkit/log/log"
import * as tar from "tar"
import { appendLayers, type BaseImage, type Layer, mediaTypes } from "../image.js"
import { layoutIn } from "../layout.js"
import { projectLayers } from "../project-image.js"
import type { Part } from "../tree-entries.js"
import type { Registry } from "./client.js"
import { documentOf } from "./document.js"
import { isRegistryAway, RegistryFailed } from "./failures.js"
import { findImage, goArchitecture, readBlob } from "./pull.js"
import { pushImage } from "./push.js"
import type { Reference } from "./reference.js"

export interface StoredArtifact {
  /** It changes when schemas are added. */
  readonly digest: string
  readonly layers: readonly Layer[]
  /** The variables that `langgraph.json` sets. */
  readonly configEnv: Readonly<Record<string, string>>
  /** What its build has found; undefined when it was sent without. */
  readonly verified: Verified | undefined
}

export interface Verified {
  readonly graphs: readonly string[]
  readonly langgraphVersion: string | null
  readonly lacksSchemas: boolean
}

export interface ArtifactStore {
  /** The repository for all images of an installation. */
  readonly target: Pick<Reference, "host" | "repository">
  readonly registry: Registry
  /** The labels of every image that is made of an artifact. */
  labelsOf(artifactId: string): Readonly<Record<string, string>>
  /** @param made  for an image that was made of the artifact: what it was made with */
  tagOf(artifactId: string, made?: string): string
  /** While the registry is away, as it was found last. */
  find(artifactId: string): Promise<StoredArtifact | undefined>
  /** @returns  the digest of the image with this tag; while the registry is away, as it was told last */
  digestOf(tag: string): Promise<string | undefined>
  /** Sends the folder of an artifact. */
  put(
    artifactId: string,
    folder: string,
    notes: { readonly configEnv: Readonly<Record<string, string>>; readonly verified?: Verified },
  ): Promise<void>
  /** Puts the project's files into a folder, at the places that they have in the image. */
  unpack(artifact: StoredArtifact, into: string): Promise<void>
  /** Adds files as a layer, in the place of those that were added before. */
  add(artifactId: string, part: Part): Promise<void>
  /** With all images that were made of it. */
  remove(artifactId: string): Promise<void>
  list(): Promise<string[]>
  readonly sources: SourceImages
}

/** The images that builds start from, each with the source of one revision. */
export interface SourceImages {
  tagOf(revisionId: string): string
  labelsOf(revisionId: string): Readonly<Record<string, string>>
  remove(revisionId: string): Promise<void>
  /** The revisions that have one. */
  list(): Promise<string[]>
}

const labels = {
  owner: "superstep.owner",
  artifact: "superstep.artifact",
  source: "superstep.source",
  env: "superstep.env",
  verified: "superstep.verified",
} as const

// Ids of artifacts are hexadecimal digits.
const sourcePrefix = "source-"

// Packages, and the project itself (`projectLayers`).
const layersOfProject = 2

export interface ArtifactStoreOptions {
  readonly registry: Registry
  readonly target: Pick<Reference, "host" | "repository">
  /** For layers on their way. */
  readonly folder: string
  /** Of the installation. */
  readonly homeId: string
  readonly log: Log
}

export function artifactStore({ registry, target, folder, homeId, log }: ArtifactStoreOptions): ArtifactStore {
  const { repository } = target
  // Ids of artifacts have no "-".
  const ours = `${homeId.replaceAll("-", "")}-`
  const tagOf: ArtifactStore["tagOf"] = (artifactId, made) => [ours + artifactId, ...(made ? [made] : [])].join("-")
  const labelsOf = (artifactId: string) => ({ [labels.owner]: homeId, [labels.artifact]: artifactId })

  const digestOf = knownWhileAway(async (tag): Promise<string | undefined> => {
    const headers = { accept: mediaTypes.manifest }
    const found = await registry.ask(`/v2/${repository}/manifests/${tag}`, {
      method: "HEAD",
      headers,
      expect: [200, 404],
    })
    if (found.status === 404) return undefined
    const digest = found.headers.get("docker-content-digest")
    if (digest === null) throw new RegistryFailed(`${target.host} does not tell the digest of ${repository}:${tag}`)
    return digest
  })
  const find = knownWhileAway(async (artifactId): Promise<StoredArtifact | undefined> => {
    const digest = await digestOf(tagOf(artifactId))
    if (digest === undefined) return undefined
    const { base } = await findImage(registry, { repository, version: digest })
    const found = base.config.config?.Labels ?? {}
    const { [labels.env]: env = "{}", [labels.verified]: verified } = found
    return {
      digest,
      layers: base.layers,
      configEnv: JSON.parse(env) as Record<string, string>,
      verified: verified === undefined ? undefined : (JSON.parse(verified) as Verified),
    }
  })
  const push = (artifactId: string, layers: readonly Layer[], notes: Notes, read: Reader) =>
    pushImage({
      registry,
      repository,
      version: tagOf(artifactId),
      image: appendLayers(nothing(), layers, {
        Labels: {
          ...labelsOf(artifactId),
          [labels.env]: JSON.stringify(notes.configEnv),
          ...(notes.verified && { [labels.verified]: JSON.stringify(notes.verified) }),
        },
      }),
      read,
    })
  /** Two pushes never remove each other's layers. */
  const withLayout = async <T>(work: (layout: ReturnType<typeof layoutIn>) => Promise<T>): Promise<T> => {
    const own = join(folder, randomUUID())
    try {
      return await work(layoutIn(own))
    } finally {
      await rm(own, { recursive: true, force: true })
    }
  }
  /** Those of this installation. */
  const tags = async (): Promise<string[]> => {
    const found: string[] = []
    for (let path: string | undefined = `/v2/${repository}/tags/list?n=1000`; path !== undefined; ) {
      const response = await registry.ask(path, { expect: [200, 404] })
      // 404: nothing was ever sent there.
      if (response.status === 404) return found
      const { tags } = JSON.parse((await documentOf(response)).toString()) as {
        readonly tags: readonly string[] | null
      }
      found.push(...(tags ?? []).filter((tag) => tag.startsWith(ours)))
      path = /<([^<>]+)>;\s*rel="?next"?/.exec(response.headers.get("link") ?? "")?.[1]
    }
    return found
  }
  const removeTag = async (tag: string): Promise<void> => {
    const digest = await digestOf(tag)
    if (digest === undefined) return
    if (await isDeleted(`/v2/${repository}/manifests/${digest}`)) return
    // Nobody can do better until the operator allows it, and neither a build nor the deletion of a deployment may fail for that.
    if (!hasWarned) log.warn({ tag }, `${target.host} lets us delete nothing: allow it, or old images stay for ever`)
    hasWarned = true
  }
  let hasWarned = false
  /** @returns  false when the registry deletes nothing, or nothing for our login, which may read and push */
  const isDeleted = async (path: string): Promise<boolean> => {
    try {
      return (await registry.ask(path, { method: "DELETE", expect: [200, 202, 404, 405] })).status !== 405
    } catch (error) {
      if (error instanceof Unauthenticated) return false
      throw error
    }
  }
  const sourceTagOf = (revisionId: string) => `${ours}${sourcePrefix}${revisionId}`
  return {
    target,
    registry,
    labelsOf,
    tagOf,
    find,
    digestOf,
    put: (artifactId, project, notes) =>
      withLayout(async (layout) => {
        await push(artifactId, await projectLayers(project, layout), notes, layout.read)
      }),
    unpack: async ({ layers }, into) => {
      await mkdir(into, { recursive: true })
      for (const { blob } of layers) {
        const file = join(into, `${randomUUID()}.tar`)
        await pipeline(readBlob(registry, repository, blob.digest, 0), createWriteStream(file, { mode: 0o600 }))
        await tar.extract({ file, cwd: into })
        await rm(file)
      }
    },
    add: (artifactId, part) =>
      withLayout(async (layout) => {
        const found = await find(artifactId)
        if (!found) throw new RegistryFailed(`${target.host}/${repository} has no artifact ${artifactId}`, 404)
        const added = await layout.addLayer([part])
        await push(artifactId, [...found.layers.slice(0, layersOfProject), added], found, layout.read)
      }),
    remove: async (artifactId) => {
      const own = tagOf(artifactId)
      const made = (await tags()).filter((tag) => tag.startsWith(`${own}-`))
      for (const tag of [...made, own]) await removeTag(tag)
    },
    list: async () => (await tags()).map((tag) => tag.slice(ours.length)).filter((id) => !id.includes("-")),
    sources: {
      tagOf: sourceTagOf,
      labelsOf: (revisionId) => ({ [labels.owner]: homeId, [labels.source]: revisionId }),
      remove: (revisionId) => removeTag(sourceTagOf(revisionId)),
      list: async () =>
        (await tags()).flatMap((tag) =>
          tag.startsWith(`${ours}${sourcePrefix}`) ? [tag.slice(ours.length + sourcePrefix.length)] : [],
        ),
    },
  }
}

// Of an artifact and of what was made of it.
const mostKnown = 5000

/** While the registry is away, the last answer holds: nodes that have the image start it without the registry, as after a crash or a rollback. */
function knownWhileAway<T>(ask: (name: string) => Promise<T | undefined>): typeof ask {
  const known = new Recent<string, T>(mostKnown)
  return async (name) => {
    try {
      const answer = await ask(name)
      if (answer === undefined) known.delete(name)
      else known.set(name, answer)
      return answer
    } catch (error) {
      const last = known.get(name)
      if (last === undefined || !isRegistryAway(error)) throw error
      return last
    }
  }
}

type Notes = Pick<StoredArtifact, "configEnv"> & { readonly verified?: Verified | undefined }
type Reader = Parameters<typeof pushImage>[0]["read"]

const nothing = (): BaseImage => ({
  config: { architecture: goArchitecture(), os: "linux", rootfs: { type: "layers", diff_ids: [] } },
  layers: [],
})
