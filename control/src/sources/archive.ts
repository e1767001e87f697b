/**
 * Archives that clients uploaded. An archive is other people's work: nothing of it is written outside the tree, nothing
 * in it is a link, and what it becomes on disk is known before it is written (`archive-entry.ts`).
 */
import { createHash } from "node:crypto"
import { createWriteStream } from "node:fs"
import { mkdir, rename, rm, stat } from "node:fs/promises"
import { dirname, join } from "node:path"
import { pipeline } from "node:stream/promises"
import { ifCode } from "@superstep/toolkit/errors/if-code"
import type { ReadEntry } from "tar"
import { invalidEntry, judgeEntry, TakenNames } from "./archive-entry.js"
import { type ArchiveLimits, archiveLimits, readArchive } from "./archive-reader.js"
import { type FetchedTree, type Source, SourceFailed } from "./port.js"

export interface ArchiveLocation {
  readonly file: string
  /** Of the file, as it was uploaded. */
  readonly sha256: string
}

export function archiveSource(limits: ArchiveLimits = archiveLimits): Source<ArchiveLocation> {
  const resolve = async ({ sha256 }: ArchiveLocation) => idOf(sha256)

  const fetch: Source<ArchiveLocation>["fetch"] = async (location, id, folder, signal) => {
    signal.throwIfAborted()
    if (id !== idOf(location.sha256)) throw new SourceFailed("source_not_found", `${id} is another archive`)
    const partial = `${folder}.partial`
    await rm(partial, { recursive: true, force: true })
    await rm(folder, { recursive: true, force: true })
    await requireFile(location.file)
    await mkdir(partial, { recursive: true })
    const tree = extraction(partial, signal)
    const sha256 = await readArchive(location.file, { limits, signal, onEntry: tree.add })
    if (sha256 !== location.sha256) {
      throw new SourceFailed("archive_invalid", "the archive is not the one that was uploaded: upload it again")
    }
    await rename(partial, folder)
    return tree.result()
  }
  return { resolve, fetch }
}

const idOf = (sha256: string): string => `sha256:${sha256}`

async function requireFile(file: string): Promise<void> {
  if (await stat(file).catch(ifCode(["ENOENT"]))) return
  throw new SourceFailed("source_not_found", "the archive is not kept any more: upload the code again")
}

interface WrittenFile {
  readonly isExecutable: boolean
  readonly sha256: string
}

/** Writes entries below `root`, which is empty and ours. */
function extraction(root: string, signal: AbortSignal) {
  const names = new TakenNames()
  const files = new Map<string, WrittenFile>()
  const folders = new Set([root])
  const leftOut: string[] = []

  const makeFolder = async (path: string) => {
    if (folders.has(path)) return
    await mkdir(path, { recursive: true })
    folders.add(path)
  }
  const add = async (entry: ReadEntry): Promise<void> => {
    const verdict = judgeEntry(entry)
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
    const sha256 = await writeFile(entry, isNew && join(root, path), { isExecutable, signal })
    const written = { isExecutable, sha256 }
    if (isNew) files.set(path, written)
    else if (!isSame(files.get(path), written)) throw invalidEntry(path, "is there twice, with different content")
  }
  const result = (): FetchedTree => ({
    treeHash: treeHashOf(files),
    notes: leftOut.map((path) => `left out of the build: ${path}`),
  })
  return { add, result }
}

/** The CLIs pack a file twice when one folder of a monorepo is inside another; the same twice is no fault. */
const isSame = (one: WrittenFile | undefined, other: WrittenFile): boolean =>
  one?.sha256 === other.sha256 && one.isExecutable === other.isExecutable

/** @param file  false: only the content is looked at */
async function writeFile(
  entry: ReadEntry,
  file: string | false,
  { isExecutable, signal }: { isExecutable: boolean; signal: AbortSignal },
): Promise<string> {
  const hash = createHash("sha256")
  const chunks = entry as unknown as AsyncIterable<Buffer>
  const hashed = async function* () {
    for await (const chunk of chunks) {
      hash.update(chunk)
      yield chunk
    }
  }
  if (file === false) for await (const _ of hashed()) signal.throwIfAborted()
  else {
    const mode = isExecutable ? 0o755 : 0o644
    await pipeline(hashed, createWriteStream(file, { flags: "wx", mode }), { signal })
  }
  return hash.digest("hex")
}

/** Times and owners do not count: the same files packed twice are the same tree. */
function treeHashOf(files: ReadonlyMap<string, WrittenFile>): string {
  const hash = createHash("sha256")
  for (const path of [...files.keys()].sort()) {
    const { isExecutable, sha256 } = files.get(path) as WrittenFile
    hash.update(`${isExecutable ? "x" : "-"} ${sha256} ${path}\n`)
  }
  return hash.digest("hex")
}
