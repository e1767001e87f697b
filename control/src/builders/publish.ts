/** Makes a built tree an artefact: nothing in it that should not run, nobody may change it, and it appears at once. */
import { execFile } from "node:child_process"
import { mkdir, rename, rm, stat } from "node:fs/promises"
import { dirname, join } from "node:path"
import { promisify } from "node:util"
import type { OsUser } from "@superstep/toolkit/exec/spawn-detached"

const run = promisify(execFile)

/**
 * Takes out of a tree what an artefact must not carry.
 * @returns  what was there and is gone
 */
export async function prune(tree: string, configFolder: string): Promise<string[]> {
  const folders = [...new Set(["", configFolder === "." ? "" : configFolder])]
  const names = [".env", ".git", ".npmrc", "node_modules/.cache"]
  const gone: string[] = []
  for (const path of folders.flatMap((folder) => names.map((name) => join(folder, name)))) {
    const target = join(tree, path)
    if (!(await exists(target))) continue
    await rm(target, { recursive: true, force: true })
    gone.push(path)
  }
  return gone
}

/**
 * Moves a tree to its place. A second publication of the same artefact changes nothing.
 * @param user  who may read it besides us; without one, everybody on the machine who can reach the folder
 */
export async function publish(tree: string, artifactFolder: string, user: OsUser | null): Promise<void> {
  if (await exists(artifactFolder)) return
  await mkdir(dirname(artifactFolder), { recursive: true })
  // `-h`: a symbolic link of the tree changes hands itself, never what it points to.
  if (user) await run("chown", ["-R", "-h", `0:${user.gid}`, tree])
  await run("chmod", ["-R", user ? "u=rwX,g=rX,o=" : "a-w", tree])
  // A folder is renamed by who may write to it.
  await run("chmod", ["u+w", tree])
  await rename(tree, artifactFolder)
}

/** Deletes a tree, a read-only one too. */
export async function removeTree(folder: string): Promise<void> {
  if (!(await exists(folder))) return
  await run("chmod", ["-R", "u+w", folder])
  await rm(folder, { recursive: true, force: true })
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT" || error.code === "ENOTDIR") return false
      throw error
    },
  )
}
