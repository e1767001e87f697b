/**
 * Watches a project's sources while somebody edits them. It owns one watcher a folder: Node's recursive watching cannot
 * leave `node_modules` out and on Linux loses files that an editor replaces by renaming, which folders do not mind.
 * V1 a change of a source calls back once after things have been quiet for `quietMs`; V2 new folders are watched, and
 * what was written into one before that counts as a change; V3 nothing is called after `close`.
 */
import { type FSWatcher, watch } from "node:fs"
import { readdir } from "node:fs/promises"
import { basename, join } from "node:path"
import type { Log } from "@superstep/toolkit/log/log"

export interface SourceWatch {
  close(): void
}

const ignoredFolders = new Set(["node_modules", "dist", "build", "coverage", "__pycache__", "venv"])
const sourceName = /\.(?:[cm]?[jt]sx?|json|py|pyi|toml|ya?ml|md|txt|sql|graphql)$|^\.env/

/** Whether a folder may hold sources: hidden ones (.git, .superstep, .venv …) and built ones do not. */
export const isWatchedFolder = (name: string): boolean => !name.startsWith(".") && !ignoredFolders.has(name)

/** Whether a file counts as a source: graphs may read prompts and tables beside code, but not databases or logs. */
export const isSource = (name: string): boolean => sourceName.test(name) && !name.endsWith("~")

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
    watchers.get(path)?.close()
    watchers.delete(path)
  }

  const onEvent = (inside: string, name: string | null) => {
    if (isClosed || name === null) return
    const path = inside === "" ? name : join(inside, name)
    if (isSource(name)) note(path)
    // What appeared may be a folder, and what went may have been one, then come back as another.
    else if (isWatchedFolder(name)) void follow(path).then((found) => found && !isClosed && note(found))
  }

  /** Watches a folder and those in it. @returns a source that is in a folder that was not watched before */
  const follow = async (inside: string): Promise<string | undefined> => {
    const path = join(folder, inside)
    const entries = await readdir(path, { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
      // It went again, or is a file, or may not be read: then there is nothing to watch.
      if (inside === "") throw error
      drop(inside)
    })
    if (!entries || isClosed) return undefined
    const isNew = !watchers.has(inside)
    if (isNew) watchers.set(inside, watchFolder(path, inside))
    const folders = entries.filter((entry) => entry.isDirectory() && isWatchedFolder(basename(entry.name)))
    const found = await Promise.all(folders.map(({ name }) => follow(inside === "" ? name : join(inside, name))))
    const source = isNew ? entries.find((entry) => entry.isFile() && isSource(entry.name))?.name : undefined
    return source === undefined ? found.find((one) => one !== undefined) : join(inside, source)
  }

  const watchFolder = (path: string, inside: string): FSWatcher => {
    const watcher = watch(path, { persistent: false }, (_event, name) => onEvent(inside, name))
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
      for (const path of [...watchers.keys()]) drop(path)
    },
  }
}
