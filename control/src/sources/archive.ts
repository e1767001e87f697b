/**
 * Archives that clients uploaded. Other people create them: nothing is written outside the tree, no entry becomes a link,
 * and each entry is checked before it is written (`archive-entry.ts`).
 */
import { createHash } from "node:crypto"
import { createWriteStream } from "node:fs"
import { mkdir, rename, rm, writeFile as writeWholeFile } from "node:fs/promises"
import { dirname, join } from "node:path"
import { pipeline } from "node:stream/promises"
import { removeTree } from "@superstep/toolkit/files/remove-tree"
import type { ReadEntry } from "tar"
import { checkEntry, invalidEntry, TakenNames } from "./archive-entry.js"
import type { ArchiveLocation } from "./archive-location.js"
import { type ArchiveLimits, archiveLimits, readArchive, tooBig } from "./archive-reader.js"
import { type FetchedTree, type Source, SourceFailed } from "./port.js"

export function archiveSource(limits: ArchiveLimits = archiveLimits): Source<ArchiveLocation> {
  const resolve = async ({ sha256 }: ArchiveLocation) => idOf(sha256)

  const fetch: Source<ArchiveLocation>["fetch"] = async (location, id, folder, signal) => {
    signal.throwIfAborted()
    if (id !== idOf(location.sha256)) throw new SourceFailed("source_not_found", `${id} is not the id of this archive`)
    const partial = `${folder}.partial`
    await rm(partial, { recursive: true, force: true })
    await rm(folder, { recursive: true, force: true })
    await mkdir(partial, { recursive: true })
    const failed = new AbortController()
    const tree = extraction(partial, AbortSignal.any([signal, failed.signal]))
    try {
      // Before anything is written: many small files take long.
      await readArchive(location, { limits, signal, onEntry: survey(limits) })
      const sha256 = await readArchive(location, { limits, signal, onEntry: tree.add })
      if (sha256 !== location.sha256) {
        throw new SourceFailed("archive_invalid", "the stored archive differs from the uploaded one: upload it again")
      }
      await tree.written()
      await rename(partial, folder)
      return tree.result()
    } catch (error) {
      failed.abort()
      await tree.stopped()
      await removeTree(partial)
      throw error
    }
  }
  return { resolve, fetch }
}

const idOf = (sha256: string): string => `sha256:${sha256}`

interface WrittenFile {
  readonly isExecutable: boolean
  readonly sha256: string
}

/** Checks entries, and that they are not too many. */
function survey(limits: ArchiveLimits): (entry: ReadEntry) => Promise<void> {
  const names = new TakenNames()
  return async (entry) => {
    const { path, kind } = checkEntry(entry)
    if (kind !== "left out") names.take(path, kind)
    // One entry may be in thousands of folders.
    if (names.size > limits.entries) throw tooBig(`has more than ${limits.entries} files and folders`)
  }
}

/** Writes entries below `root`, which is empty and ours. */
function extraction(root: string, signal: AbortSignal) {
  const names = new TakenNames()
  const files = new Map<string, WrittenFile>()
  const folders = new Set([root])
  const leftOut: string[] = []
  const small = worksAtOnce(mostWrites)

  const makeFolder = async (path: string) => {
    if (folders.has(path)) return
    await mkdir(path, { recursive: true })
    folders.add(path)
  }
  const addEntry = async (entry: ReadEntry): Promise<void> => {
    const verdict = checkEntry(entry)
    const { path, kind } = verdict
    if (kind === "left out") leftOut.push(path)
    if (kind === "folder") {
      names.take(path, "folder")
      await makeFolder(join(root, path))
    }
    if (kind !== "file") return
    const { isExecutable } = verdict
    const isNew = names.take(path, "file")
    if (isNew) await makeFolder(dirname(join(root, path)))
    const sha256 = await writeFile(entry, isNew && join(root, path), { isExecutable, signal, beside: small.begin })
    const written = { isExecutable, sha256 }
    if (isNew) files.set(path, written)
    else if (!isSame(files.get(path), written)) throw invalidEntry(path, "occurs twice, with different content")
  }
  let adding: Promise<void> = Promise.resolve()
  const add = (entry: ReadEntry): Promise<void> => {
    // An entry whose archive ends within it would be waited for without end.
    const stop = () => entry.destroy()
    signal.addEventListener("abort", stop, { once: true })
    adding = addEntry(entry).finally(() => signal.removeEventListener("abort", stop))
    return adding
  }
  /** Resolves when nothing is written any more; after the signal was aborted. An error of the entry rejects what `add` returned. */
  const stopped = async (): Promise<void> => {
    await adding.catch(() => undefined)
    await small.ended().catch(() => undefined)
  }
  const result = (): FetchedTree => ({
    treeHash: treeHashOf(files),
    notes: leftOut.map((path) => `left out of the build: ${path}`),
  })
  return { add, written: small.ended, stopped, result }
}

// 200,000 small files, one after the other, would take minutes.
const mostWrites = 32

type Beside = (work: () => Promise<void>) => Promise<void>

/** Works of which some go on at once. The first error of one rejects whatever is called next. */
function worksAtOnce(most: number): { readonly begin: Beside; ended(): Promise<void> } {
  const works = new Set<Promise<void>>()
  let failure: { readonly error: unknown } | undefined
  const check = () => {
    if (failure) throw failure.error
  }
  return {
    begin: async (work) => {
      if (works.size >= most) await Promise.race(works)
      check()
      const ended = work()
        .catch((error: unknown) => {
          failure ??= { error }
        })
        .finally(() => works.delete(ended))
      works.add(ended)
    },
    ended: async () => {
      await Promise.all(works)
      check()
    },
  }
}

/** The CLIs pack a file twice when one folder of a monorepo is inside another; an identical copy is no fault. */
const isSame = (one: WrittenFile | undefined, other: WrittenFile): boolean =>
  one?.sha256 === other.sha256 && one.isExecutable === other.isExecutable

const smallBytes = 64 * 1024

/**
 * @param file    false: the content is only hashed
 * @param beside  writes a small file while the next entries are read
 */
async function writeFile(
  entry: ReadEntry,
  file: string | false,
  { isExecutable, signal, beside }: { isExecutable: boolean; signal: AbortSignal; beside: Beside },
): Promise<string> {
  const hash = createHash("sha256")
  const chunks = entry as unknown as AsyncIterable<Buffer>
  const mode = isExecutable ? 0o755 : 0o644
  if (file !== false && entry.size <= smallBytes) {
    const parts: Buffer[] = []
    for await (const chunk of chunks) parts.push(chunk)
    signal.throwIfAborted()
    const content = Buffer.concat(parts)
    await beside(() => writeWholeFile(file, content, { flag: "wx", mode }))
    return hash.update(content).digest("hex")
  }
  const hashed = async function* () {
    for await (const chunk of chunks) {
      hash.update(chunk)
      yield chunk
    }
  }
  if (file === false) for await (const _ of hashed()) signal.throwIfAborted()
  else {
    await pipeline(hashed, createWriteStream(file, { flags: "wx", mode }), { signal })
  }
  return hash.digest("hex")
}

/** Times and owners do not count: the same files packed again give the same hash. */
function treeHashOf(files: ReadonlyMap<string, WrittenFile>): string {
  const hash = createHash("sha256")
  for (const path of [...files.keys()].sort()) {
    const { isExecutable, sha256 } = files.get(path) as WrittenFile
    hash.update(`${isExecutable ? "x" : "-"} ${sha256} ${path}\n`)
  }
  return hash.digest("hex")
}
