/** Git says of a repository of this machine that it may not read, that it is none. */
import { constants, open, stat } from "node:fs/promises"
import { userInfo } from "node:os"
import { dirname, join } from "node:path"
import { localPath } from "./git-location.js"

/**
 * @returns  a sentence that says who cannot read what; undefined when nothing of the repository refuses us, and for other addresses
 */
export async function unreadablePart(repoUrl: string): Promise<string | undefined> {
  const path = localPath(repoUrl)
  if (path === undefined) return undefined
  const inside = [path, join(path, ".git")].flatMap((folder) => [
    folder,
    ...["HEAD", "config", "objects", "refs"].map((name) => join(folder, name)),
  ])
  for (const [it, look] of [
    ...foldersAbove(path).map((it) => [it, enter] as const),
    ...inside.map((it) => [it, read] as const),
  ]) {
    const isRefused = await look(it).then(
      () => false,
      (error: NodeJS.ErrnoException) => error.code === "EACCES",
    )
    if (!isRefused) continue
    return `the user ${userName()} cannot read ${it}: let this user read the repository at ${path}, or push it to a git host`
  }
  return undefined
}

// Its entry for itself can be found only by a user who may enter it.
const enter = (folder: string) => stat(`${folder}/.`)
// Not `access`, which asks for the real user where git runs as the effective one.
const read = async (path: string) => (await open(path, constants.O_RDONLY | constants.O_NONBLOCK)).close()

/** A user of a container may have no name. */
function userName(): string {
  try {
    return userInfo().username
  } catch {
    return `with the id ${process.geteuid?.()}`
  }
}

/** The outermost first. */
function foldersAbove(path: string): string[] {
  const parent = dirname(path)
  return parent === path ? [] : [...foldersAbove(parent), parent]
}
