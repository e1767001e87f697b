/** Makes a built tree an artefact: nothing in it that should not run, nobody may change it, and it appears at once. */
import { execFile } from "node:child_process"
import { lstat, mkdir, realpath, rename, rm } from "node:fs/promises"
import { basename, dirname, join, sep } from "node:path"
import { promisify } from "node:util"
import { ifCode, missing } from "@superstep/toolkit/errors/if-code"
import type { OsUser } from "@superstep/toolkit/exec/spawn-detached"

const run = promisify(execFile)

/**
 * Takes out of a tree what an artefact must not carry. A folder of the tree may be a link that leads outside, where we
 * must not delete.
 * @returns  what was there and is gone
 */
export async function prune(tree: string, configFolder: string): Promise<string[]> {
  const folders = [...new Set(["", configFolder === "." ? "" : configFolder])]
  const names = [".env", ".git", ".npmrc", "node_modules/.cache"]
  const gone: string[] = []
  for (const path of folders.flatMap((folder) => names.map((name) => join(folder, name)))) {
    const target = join(tree, path)
    if (!(await exists(target)) || !(await isInside(tree, dirname(target)))) continue
    await rm(join(await realpath(dirname(target)), basename(target)), { recursive: true, force: true })
    gone.push(path)
  }
  return gone
}

async function isInside(tree: string, folder: string): Promise<boolean> {
  const [root, real] = await Promise.all([realpath(tree), realpath(folder)])
  return real === root || real.startsWith(root + sep)
}

/**
 * Moves a tree to its place. A second publication of the same artefact changes nothing.
 * @param user  who may read it besides us; without one, everybody on the machine who can reach the folder
 */
export async function publish(tree: string, artifactFolder: string, user: OsUser | null): Promise<void> {
  if (await exists(artifactFolder)) return
  await mkdir(dirname(artifactFolder), { recursive: true })
  await closeTree(tree, user)
  await rename(tree, artifactFolder)
}

/** From now on nobody changes the tree; itself it may still be renamed. */
export async function closeTree(tree: string, user: OsUser | null): Promise<void> {
  // `-h`: a symbolic link of the tree changes hands itself, never what it points to.
  if (user) await run("chown", ["-R", "-h", `0:${user.gid}`, tree])
  await run("chmod", ["-R", user ? "u=rwX,g=rX,o=" : "a-w", tree])
  // A folder is renamed by who may write to it.
  await run("chmod", ["u+w", tree])
}

/** Deletes a tree, a read-only one too. */
export async function removeTree(folder: string): Promise<void> {
  if (!(await exists(folder))) return
  // Folders alone: a file may have other names, in trees that stay as they are.
  await run("find", [folder, "-type", "d", "-exec", "chmod", "u+rwx", "{}", "+"])
  await rm(folder, { recursive: true, force: true })
}

const exists = (path: string): Promise<boolean> => lstat(path).then(() => true, ifCode(missing, false))
