/** Turns a built tree into an artifact: removes what must not run, makes it read-only, and publishes it by one rename. */
import { randomUUID } from "node:crypto"
import { chmod, lchown, lstat, mkdir, readdir, realpath, rename } from "node:fs/promises"
import { basename, dirname, extname, join, sep } from "node:path"
import { keptSchemasFile } from "@superstep/protocol/worker/kept-schemas"
import { ifCode, missing } from "@superstep/toolkit/errors/if-code"
import type { OsUser } from "@superstep/toolkit/exec/spawn-detached"
import { closeTree } from "@superstep/toolkit/files/own-tree"
import { UnusableFile } from "@superstep/toolkit/files/read-plain-file"
import { removeTree } from "@superstep/toolkit/files/remove-tree"
import { writeShared } from "@superstep/toolkit/files/shared-file"
import { isUuid } from "@superstep/toolkit/text/is-uuid"

/**
 * Closes the tree (`own-tree.ts`) and deletes what an artifact must not contain.
 * @param configFolder  the folder of `langgraph.json`, relative to the tree
 * @returns             the paths that were deleted
 */
export async function closeAndPrune(tree: string, reader: OsUser | null, configFolder: string): Promise<string[]> {
  // As root, before anything is deleted: until then the user who built may still swap folders for links.
  if (reader) closeTree(tree, reader)
  const gone = await prune(tree, configFolder)
  if (!reader) closeTree(tree, null)
  return gone
}

/** Never deletes outside the tree: a folder in it may be a link that leads there. */
export async function prune(tree: string, configFolder: string): Promise<string[]> {
  const folders = [...new Set(["", configFolder === "." ? "" : configFolder])]
  const names = [".env", ".git", ".npmrc", "node_modules/.cache"]
  const gone: string[] = []
  for (const path of folders.flatMap((folder) => names.map((name) => join(folder, name)))) {
    const target = join(tree, path)
    if (!(await exists(target)) || !(await isInside(tree, dirname(target)))) continue
    await removeTree(join(await realpath(dirname(target)), basename(target)))
    gone.push(path)
  }
  return gone
}

async function isInside(tree: string, folder: string): Promise<boolean> {
  const [root, real] = await Promise.all([realpath(tree), realpath(folder)])
  return real === root || real.startsWith(root + sep)
}

/** Moves a closed tree to its place. A second publication of the same artifact changes nothing. */
export async function publish(tree: string, artifactFolder: string): Promise<void> {
  if (await exists(artifactFolder)) return
  await mkdir(dirname(artifactFolder), { recursive: true })
  await rename(tree, artifactFolder)
}

/** A project in an artifact, and who reads it besides its owner; null where units are not isolated. */
interface PublishedProject {
  readonly artifactFolder: string
  readonly configPath: string
  readonly reader: OsUser | null
}

/**
 * Adds the file with stored schemas to a published artifact.
 * @throws  the system's error; `UnusableFile` when the project has a link or a file in its place
 */
export async function addSchemas({ text, ...project }: PublishedProject & { readonly text: string }): Promise<void> {
  const folder = await makeSchemasFolder(project)
  await writeShared(keptSchemasFile(dirname(folder)), text, project.reader ?? undefined)
}

/**
 * The folder of stored schemas, created where it is missing. Nobody else can change the artifact, but it may contain links.
 * @returns  its path without links, which is in the artifact
 * @throws   the system's error; `UnusableFile` when the project has a link or a file in its place
 */
export async function makeSchemasFolder({ artifactFolder, configPath, reader }: PublishedProject): Promise<string> {
  const project = join(artifactFolder, dirname(configPath))
  if (!(await isInside(artifactFolder, project))) throw new UnusableFile(`${project} is outside of the artifact`)
  const folder = dirname(keptSchemasFile(await realpath(project)))
  // Where we are not root, the tree is read-only for us too.
  await chmod(dirname(folder), (await lstat(dirname(folder))).mode | 0o200)
  await mkdir(folder, { mode: 0o700 }).catch(ifCode(["EEXIST"]))
  const found = await lstat(folder)
  if (!found.isDirectory()) throw new UnusableFile(`${folder} is no folder: remove it from the project`)
  await chmod(folder, 0o750)
  if (reader) await lchown(folder, 0, reader.gid)
  return folder
}

/**
 * Deletes an artifact. It is moved away first: a build that is about to publish the same artifact finds all of it or
 * nothing.
 */
export async function removeArtifact(artifactFolder: string): Promise<void> {
  const leaving = `${artifactFolder}.${randomUUID()}`
  await rename(artifactFolder, leaving).catch(ifCode(missing))
  await removeTree(leaving)
}

/** Whether a folder beside the artifacts is one that `removeArtifact` has moved away. Pure. */
export const isLeaving = (name: string): boolean => isUuid(extname(name).slice(1))

/** Deletes what a killed `removeArtifact` has left. @param artifacts  the folder of all artifacts */
export async function removeLeaving(artifacts: string): Promise<void> {
  for (const name of await readdir(artifacts)) if (isLeaving(name)) await removeTree(join(artifacts, name))
}

const exists = (path: string): Promise<boolean> => lstat(path).then(() => true, ifCode(missing, false))
