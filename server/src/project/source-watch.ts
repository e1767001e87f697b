/**
 * Watches a project's sources while somebody edits them. It owns one watcher a folder: Node's recursive watching cannot
 * leave `node_modules` out and on Linux loses files that an editor replaces by renaming, which folders do not mind.
 * V1 a change of a source calls back once after things have been quiet for `quietMs`; V2 new folders are watched, and
 * what was written into one before that counts as a change; V3 nothing is called after `close`.
 */
import { type FSWatcher, watch } from "node:fs"
import { readdir } from "node:fs/promises"
import { join, sep } from "node:path"
import type { Log } from "@superstep/toolkit/log/log"

export interface SourceWatch {
  close(): void
}

const ignoredFolders = new Set(["node_modules", "dist", "build", "coverage", "__pycache__", "venv"])
const sourceName = /\.(?:[cm]?[jt]sx?|json|py|pyi|toml|ya?ml|md|txt|sql|graphql)$|^\.env/

/** Whether a folder may hold sources: hidden ones (.git, .superstep, .venv …) and built ones do not. */
const isWatchedFolder = (name: string): boolean => !name.startsWith(".") && !ignoredFolders.has(name)

/** Whether a file counts as a source: graphs may read prompts and tables beside code, but not databases or logs. */
const isSource = (name: string): boolean => sourceName.test(name) && !name.endsWith("~")

/**
 * Starts watching; the folders are watched when it returns.
 * @param onChange  gets the path of one file that changed, relative to the folder
 * @param quietMs   an editor saves in several steps, a checkout in hundreds
 */
export async function watchSources(
  folder: string,
  onChange: (path: string) => void,
  { log, quietMs = 150 }: { log: Log; quietMs?: number },
): Promise<SourceWatch> {
  const watchers = new Map<string, FSWatcher>()
  let changed: string | undefined
  let timer: NodeJS.Timeout | undefined
  let isClosed = false

  const note = (path: string) => {
    changed = path
    clearTimeout(timer)
    timer = setTimeout(() => onChange(changed ?? path), quietMs)
  }

  const drop = (path: string) => {
    for (const [watched, watcher] of watchers) {
      if (watched !== path && !watched.startsWith(path + sep)) continue
      watcher.close()
      watchers.delete(watched)
    }
  }

  const onEvent = (kind: string, inside: string, name: string | null) => {
    if (isClosed || name === null) return
    const path = join(inside, name)
    if (isSource(name)) note(path)
    else if (kind === "rename" && isWatchedFolder(name)) {
      // A folder came, went, or was replaced by another of its name, whose changes the old watcher does not see.
      drop(path)
      void follow(path).then((found) => found && !isClosed && note(found))
    }
  }

  /** Watches a folder and those in it. @returns a source in them, if there is one */
  const follow = async (inside: string): Promise<string | undefined> => {
    if (isClosed) return undefined
    try {
      // First watched, then read: what is written in between is seen twice, and not missed.
      if (!watchers.has(inside)) watchers.set(inside, watchFolder(inside))
      const entries = await readdir(join(folder, inside), { withFileTypes: true })
      const folders = entries.filter((entry) => entry.isDirectory() && isWatchedFolder(entry.name))
      const found = await Promise.all(folders.map(({ name }) => follow(join(inside, name))))
      const source = entries.find((entry) => entry.isFile() && isSource(entry.name))
      return source ? join(inside, source.name) : found.find((one) => one !== undefined)
    } catch (error) {
      // It went again, or is a file, or may not be read: then there is nothing to watch.
      if (inside === "") throw error
      drop(inside)
      return undefined
    }
  }

  const watchFolder = (inside: string): FSWatcher => {
    const onChangeIn = (kind: string, name: string | null) => onEvent(kind, inside, name)
    const watcher = watch(join(folder, inside), { persistent: false }, onChangeIn)
    watcher.on("error", (err) => {
      log.warn({ err, folder: inside }, "a folder is not watched any more")
      drop(inside)
    })
    return watcher
  }

  await follow("")
  return {
    close: () => {
      isClosed = true
      clearTimeout(timer)
      for (const watcher of watchers.values()) watcher.close()
      watchers.clear()
    },
  }
}
