/** Artifacts where the registry has them. Builds send them there (`builds/`). */
import { randomUUID } from "node:crypto"
import { rename } from "node:fs/promises"
import { dirname, join, relative } from "node:path"
import { places } from "@superstep/oci/project-image"
import type { ArtifactStore } from "@superstep/oci/registry/artifact-store"
import { keptSchemasFile } from "@superstep/protocol/worker/kept-schemas"
import { removeTree } from "@superstep/toolkit/files/remove-tree"
import type { Artifacts } from "../port/port.js"

export interface RegistryArtifactsOptions {
  readonly store: ArtifactStore
  /** What builds are about to publish, or have published and not reported. */
  readonly inBuild: () => Promise<ReadonlySet<string>>
  /** For the files of an artifact whose schemas are read. */
  readonly workFolder: string
  /** Artifacts as folders of another parent. */
  readonly artifactsIn: (folder: string) => Artifacts
  /** Makes a folder readable for the user who reads schemas. */
  readonly share: (folder: string, deploymentNumber: number) => void
}

const megabyte = 2 ** 20

/** @param local  knows the platforms that artifacts run on */
export function registryArtifacts(
  local: Artifacts,
  { store, inBuild, workFolder, artifactsIn, share }: RegistryArtifactsOptions,
): Artifacts {
  return {
    ...local,
    has: async (artifactId) => (await store.digestOf(store.tagOf(artifactId))) !== undefined,
    readSchemas: async (source, signal) => {
      const { artifactId, configPath, deploymentNumber } = source
      const found = await store.find(artifactId)
      if (!found) throw new Error(`the registry has no artifact ${artifactId}`)
      const folder = join(workFolder, randomUUID())
      // The tree has the place that its artifact would have in a folder of artifacts.
      const tree = join(folder, "root", places.project)
      const artifact = join(folder, artifactId)
      try {
        await store.unpack(found, join(folder, "root"))
        await rename(tree, artifact)
        share(folder, deploymentNumber)
        await artifactsIn(folder).readSchemas(source, signal)
        const schemas = dirname(keptSchemasFile(join(artifact, dirname(configPath))))
        await store.add(artifactId, { from: schemas, to: join(places.project, relative(artifact, schemas)) })
      } finally {
        await removeTree(folder)
      }
    },
    remove: store.remove,
    list: async () => {
      // Listed before the builds: an artifact that is sent in between is then not in the list.
      const sent = await store.list()
      const building = await inBuild()
      return sent.filter((id) => !building.has(id))
    },
    usedMb: async (_, artifactIds) => {
      const found = await Promise.all(artifactIds.map(store.find))
      const sizes = new Map(
        found.flatMap((it) => it?.layers.map(({ blob }) => [blob.digest, blob.size] as const) ?? []),
      )
      const bytes = [...sizes.values()].reduce((sum, size) => sum + size, 0)
      return Math.round(bytes / megabyte)
    },
  }
}
