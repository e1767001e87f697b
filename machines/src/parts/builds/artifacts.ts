/** Artifacts as folders of this machine, named by their ids. */
import { readdir, stat } from "node:fs/promises"
import { basename, join } from "node:path"
import { buildFiles } from "@superstep/builder/build-request"
import type { InstalledNodes } from "@superstep/builder/installed-nodes"
import { platformOf } from "@superstep/builder/platform"
import { addSchemas, isLeaving, removeArtifact } from "@superstep/builder/publish"
import type { InstalledPythons } from "@superstep/builder/python/pythons"
import { readSourceSchemas } from "@superstep/builder/source-schemas"
import { ifCode, missing } from "@superstep/toolkit/errors/if-code"
import { usedDiskMb } from "@superstep/toolkit/files/disk-use"
import { readJson } from "@superstep/toolkit/files/json-file"
import { removeTree } from "@superstep/toolkit/files/remove-tree"
import { ImageRefused } from "../../port/errors.js"
import type { Artifacts } from "../../port/port.js"
import { type MachineFolders, workFolder } from "../files/folders.js"
import { builderBeside, type Isolation } from "../isolation/isolation.js"

type ArtifactFolders = Pick<MachineFolders, "artifacts" | "cache" | "work">

export interface ArtifactsOptions {
  readonly folders: ArtifactFolders
  readonly nodes: InstalledNodes
  readonly pythons: InstalledPythons
  readonly isolation: Pick<Isolation, "user">
  /** The environment of this process. */
  readonly environment: NodeJS.ProcessEnv
  /** The program that reads schemas from the sources of graphs, and how long it may take, in milliseconds. */
  readonly analyseEntry: string
  readonly limitMs: number
  /** As for builds. */
  readonly runsAt?: string | undefined
}

export function localArtifacts(options: ArtifactsOptions): Artifacts {
  const { folders, nodes, pythons, isolation, environment, analyseEntry, limitMs } = options
  const folderOf = (artifactId: string) => join(folders.artifacts, artifactId)
  const cacheOf = (deploymentId: string) => join(folders.cache, deploymentId)
  return {
    has: (artifactId) => stat(folderOf(artifactId)).then(() => true, ifCode(missing, false)),
    platforms: async (deploymentNumber) => {
      const user = isolation.user(deploymentNumber)
      const all = [nodes.own, ...(await nodes.others(user))]
      const languages = [undefined, ...(await pythons.found(user))]
      return all.flatMap((node) => languages.map((python) => platformOf(node, python, options.runsAt)))
    },
    adoptImage: async () => {
      throw new ImageRefused(
        "source_unsupported",
        "this installation runs no images that somebody else built: deploy source code, or start it with superstep up --machine docker",
      )
    },
    readSchemas: async ({ artifactId, deploymentNumber, configPath }, signal) => {
      const reader = isolation.user(deploymentNumber) ?? null
      const at = { artifactFolder: folderOf(artifactId), configPath }
      const user = reader && builderBeside(reader)
      const path = environment.PATH ?? ""
      await addSchemas({
        ...at,
        text: await readSourceSchemas({ ...at, user, path, analyseEntry, limitMs, signal }),
        reader,
      })
    },
    remove: (artifactId) => removeArtifact(folderOf(artifactId)),
    list: async () => {
      // Listed before the builds: an artifact that is published in between is then not in the list.
      const present = await readdir(folders.artifacts)
      const inBuild = await artifactsInBuild(folders)
      return present.filter((name) => !isLeaving(name) && !inBuild.has(name))
    },
    usedMb: (deploymentId, artifactIds) => usedDiskMb([cacheOf(deploymentId), ...artifactIds.map(folderOf)]),
    removeCache: (deploymentId) => removeTree(cacheOf(deploymentId)),
    caches: () => readdir(folders.cache),
  }
}

/** What builds are about to publish, or have published and their revision has not stored. */
export async function artifactsInBuild(folders: Pick<MachineFolders, "work">): Promise<ReadonlySet<string>> {
  const builds = await readdir(folders.work)
  const files = builds.map((id) => buildFiles(workFolder(folders, id).build).request)
  // Of a request of another release, which this one may not understand, only the folder is read.
  const requests = await Promise.all(files.map((file) => readJson<{ readonly artifactFolder?: unknown } | null>(file)))
  return new Set(
    requests.flatMap((it) => (typeof it?.artifactFolder === "string" ? [basename(it.artifactFolder)] : [])),
  )
}
