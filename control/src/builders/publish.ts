/** Makes a built tree an artefact: nothing in it that should not run, nobody may change it, and it appears at once. */
import { randomUUID } from "node:crypto"
import { lstat, mkdir, realpath, rename } from "node:fs/promises"
import { basename, dirname, join, sep } from "node:path"
import { ifCode, missing } from "@superstep/toolkit/errors/if-code"
import type { OsUser } from "@superstep/toolkit/exec/spawn-detached"
import { closeTree } from "../files/own-tree.js"
import { removeTree } from "../files/remove-tree.js"

/**
 * Closes the tree (`own-tree.ts`) and takes out what an artefact must not carry.
 * @param configFolder  the folder of `langgraph.json`, relative to the tree
 * @returns             what was there and is gone
 */
export async function closeAndPrune(tree: string, reader: OsUser | null, configFolder: string): Promise<string[]> {
  // As root, before anything is deleted: until then the user who built may still swap folders for links.
  if (reader) closeTree(tree, reader)
  const gone = await prune(tree, configFolder)
  if (!reader) closeTree(tree, null)
  return gone
}

/** A folder of the tree may be a link that leads outside, where we must not delete. */
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

/** Moves a closed tree to its place. A second publication of the same artefact changes nothing. */
export async function publish(tree: string, artifactFolder: string): Promise<void> {
  if (await exists(artifactFolder)) return
  await mkdir(dirname(artifactFolder), { recursive: true })
  await rename(tree, artifactFolder)
}

/**
 * Deletes an artefact. It leaves its place at once: a build that is about to publish the same one finds all of it there,
 * or nothing.
 */
export async function removeArtifact(artifactFolder: string): Promise<void> {
  const leaving = `${artifactFolder}.${randomUUID()}`
  await rename(artifactFolder, leaving).catch(ifCode(missing))
  await removeTree(leaving)
}

const exists = (path: string): Promise<boolean> => lstat(path).then(() => true, ifCode(missing, false))
