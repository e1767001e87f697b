/**
 * Watches a project's source files. It owns one watcher per folder: Node's recursive watching cannot exclude
 * `node_modules`, and on Linux it loses files that an editor replaces by renaming. Watchers of folders do not.
 * V1 After a source file changed, `onChange` is called once no further change has happened for `quietMs`.
 * V2 New folders are watched, and source files written into a new folder before that count as a change.
 * V3 Nothing is called after `close`.
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

/** Whether a folder may contain sources. Hidden folders (.git, .superstep, .venv …) and build folders do not. */
const isWatchedFolder = (name: string): boolean => !name.startsWith(".") && !ignoredFolders.has(name)

/** Whether a file counts as a source: code, prompts and tables do, databases and logs do not. */
const isSource = (name: string): boolean => sourceName.test(name) && !name.endsWith("~")

/**
 * Starts watching. All folders are watched when the promise resolves.
 * @param onChange  receives the path of one changed file, relative to the folder
 * @param quietMs   an editor saves in several steps, and a checkout changes hundreds of files
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
      // A folder was created, removed or replaced. The old watcher does not see changes in a replaced folder.
      drop(path)
      void follow(path).then((found) => found && !isClosed && note(found))
    }
  }

  /** Watches a folder and its subfolders. @returns one source file in them, if any */
  const follow = async (inside: string): Promise<string | undefined> => {
    if (isClosed) return undefined
    try {
      // Watch before reading: a file written in between is seen twice instead of never.
      if (!watchers.has(inside)) watchers.set(inside, watchFolder(inside))
      const entries = await readdir(join(folder, inside), { withFileTypes: true })
      const folders = entries.filter((entry) => entry.isDirectory() && isWatchedFolder(entry.name))
      const found = await Promise.all(folders.map(({ name }) => follow(join(inside, name))))
      const source = entries.find((entry) => entry.isFile() && isSource(entry.name))
      return source ? join(inside, source.name) : found.find((one) => one !== undefined)
    } catch (error) {
      // The folder was removed, is a file or is not readable: there is nothing to watch.
      if (inside === "") throw error
      drop(inside)
      return undefined
    }
  }

  const watchFolder = (inside: string): FSWatcher => {
    const onChangeIn = (kind: string, name: string | null) => onEvent(kind, inside, name)
    const watcher = watch(join(folder, inside), { persistent: false }, onChangeIn)
    watcher.on("error", (err) => {
      log.warn({ err, folder: inside }, "a source folder is no longer watched: restart to see its changes")
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
