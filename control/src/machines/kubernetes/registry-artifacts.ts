/**
 * Builds and artefacts where the registry has what is finished. A build beside the control plane publishes a folder, which is sent before the
 * build counts as published, and then removed. A control plane that dies meanwhile leaves the folder, and the next one there sends it.
 */
import { randomUUID } from "node:crypto"
import { readdir, rename } from "node:fs/promises"
import { dirname, join, relative } from "node:path"
import { keptSchemasFile } from "@superstep/protocol/worker/kept-schemas"
import type { Log } from "@superstep/toolkit/log/log"
import { removeTree } from "../../files/remove-tree.js"
import { places } from "../images/project-image.js"
import type { Artifacts, BuildState, Builds, Machine, PublishedArtifact } from "../port.js"
import { readProjectConfig } from "../process/builds/project-facts.js"
import type { ArtifactStore } from "./artifact-store.js"

export interface RegistryArtifactsOptions {
  readonly store: ArtifactStore
  /** Where builds publish. */
  readonly folder: string
  /** Of the project in a revision's build. */
  readonly configPathOf: (revisionId: string) => Promise<string>
  /** What builds are about to publish, or have published and not reported. */
  readonly inBuild: () => Promise<ReadonlySet<string>>
  /** For the files of an artefact whose schemas are read. */
  readonly workFolder: string
  /** Artefacts as folders of another parent. */
  readonly artifactsIn: (folder: string) => Artifacts
  /** Makes a folder readable for the user who reads schemas. */
  readonly share: (folder: string, deploymentNumber: number) => void
  readonly log: Log
}

type Local = Pick<Machine, "builds" | "artifacts">

export function registryArtifacts(local: Local, options: RegistryArtifactsOptions): Local {
  return { builds: sentBuilds(local, options), artifacts: sentArtifacts(local.artifacts, options) }
}

const megabyte = 2 ** 20

function sentArtifacts(
  local: Artifacts,
  { store, inBuild, workFolder, artifactsIn, share }: RegistryArtifactsOptions,
): Artifacts {
  return {
    ...local,
    has: async (artifactId) => (await store.digestOf(store.tagOf(artifactId))) !== undefined,
    readSchemas: async (source, signal) => {
      const { artifactId, configPath, deploymentNumber } = source
      const found = await store.find(artifactId)
      if (!found) throw new Error(`the registry has no artefact ${artifactId}`)
      const folder = join(workFolder, randomUUID())
      // The tree has the place that its artefact would have in a folder of artefacts.
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
    remove: async (artifactId) => {
      await store.remove(artifactId)
      await local.remove(artifactId)
    },
    list: async () => {
      // Listed before the builds: an artefact that is sent in between is then not in the list.
      const sent = await store.list()
      const [building, present] = await Promise.all([inBuild(), local.list()])
      return [...new Set([...sent.filter((id) => !building.has(id)), ...present])]
    },
    usedMb: async (deploymentId, artifactIds) => {
      const found = await Promise.all(artifactIds.map(store.find))
      const sizes = new Map(
        found.flatMap((it) => it?.layers.map(({ blob }) => [blob.digest, blob.size] as const) ?? []),
      )
      const bytes = [...sizes.values()].reduce((sum, size) => sum + size, 0)
      return (await local.usedMb(deploymentId, [])) + Math.round(bytes / megabyte)
    },
  }
}

interface Sending {
  error?: unknown
}

/** How the sending of a folder goes, by its path. Of this process: it is sent once at a time, since it is removed after that. */
const sendings = new Map<string, Sending>()

function sentBuilds({ builds: local, artifacts }: Local, options: RegistryArtifactsOptions): Builds {
  const { store, folder, configPathOf, log } = options
  const watchers = new Map<string, Set<() => void>>()
  const folderOf = (artifactId: string) => join(folder, artifactId)
  const isThere = async (artifactId: string) => (await readdir(folder)).includes(artifactId)

  const send = async (revisionId: string, artifactId: string, configPath: string): Promise<void> => {
    const { env } = await readProjectConfig(folderOf(artifactId), configPath)
    await store.put(artifactId, folderOf(artifactId), env)
    await artifacts.remove(artifactId)
    log.info({ revision_id: revisionId, artifact_id: artifactId }, "artefact sent to the registry")
  }
  const begin = (revisionId: string, artifactId: string, configPath: string): void => {
    const sending: Sending = {}
    sendings.set(folderOf(artifactId), sending)
    void send(revisionId, artifactId, configPath)
      .then(
        () => void sendings.delete(folderOf(artifactId)),
        (error: unknown) => {
          sending.error = error
        },
      )
      .finally(() => {
        for (const onChange of watchers.get(revisionId) ?? []) onChange()
      })
  }
  const sent = async (revisionId: string, artifact: PublishedArtifact): Promise<BuildState> => {
    const { artifactId } = artifact
    const sending = sendings.get(folderOf(artifactId))
    if (sending?.error !== undefined) {
      // Said once: whoever asks again, or builds again, has it sent again.
      sendings.delete(folderOf(artifactId))
      const why = sending.error instanceof Error ? sending.error.message : String(sending.error)
      return { state: "ended", why: `the image could not be sent: ${why}` }
    }
    if (sending) return { state: "running" }
    if (!(await isThere(artifactId))) return { state: "published", artifact }
    begin(revisionId, artifactId, await configPathOf(revisionId))
    return { state: "running" }
  }
  return {
    ...local,
    state: async (revisionId) => {
      const now = await local.state(revisionId)
      return now.state === "published" ? sent(revisionId, now.artifact) : now
    },
    watch: async (revisionId, onChange) => {
      const stop = await local.watch(revisionId, onChange)
      const all = watchers.get(revisionId) ?? new Set()
      watchers.set(revisionId, all.add(onChange))
      return () => {
        stop?.()
        all.delete(onChange)
        if (all.size === 0) watchers.delete(revisionId)
      }
    },
  }
}
