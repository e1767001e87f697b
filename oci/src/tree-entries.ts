/** Which entries a layer has: folders of this computer at their places in an image, in one order on every machine. */
import { lstat, readdir, readlink } from "node:fs/promises"
import { join } from "node:path"
import { KnownError } from "@superstep/toolkit/errors/errors"
import type { Entry } from "./tar-entry.js"

/** A folder or file, and where it is in the image. */
export interface Part {
  readonly from: string
  /** Without a slash at its start, such as `superstep/app`. */
  readonly to: string
  /** Whether an entry below `from` belongs to the layer; its folders are added when one of their entries does. All by default. */
  readonly has?: (path: string, isFolder: boolean) => boolean
}

export type FileEntry = Entry & {
  /** Where a file's content is. */
  readonly source: string
}

/** A tree contains something that an image cannot hold. */
export class UnusableTree extends KnownError {
  readonly code = "unusable_tree"
}

/** In the order of their names' bytes; each folder once, and before its content. */
export async function* entriesOf(parts: readonly Part[]): AsyncGenerator<FileEntry> {
  const sorted = parts.toSorted((a, b) => compareBytes(a.to, b.to))
  const folders = new Set<string>()
  for (const { from, to, has = () => true } of sorted) {
    for await (const entry of below(from, to, "", has)) {
      yield* missingFolders(entry.path, folders)
      if (entry.kind === "folder") {
        if (folders.has(entry.path)) continue
        folders.add(entry.path)
      }
      yield entry
    }
  }
}

function* missingFolders(path: string, folders: Set<string>): Generator<FileEntry> {
  const names = path.split("/").slice(0, -1)
  for (let depth = 1; depth <= names.length; depth++) {
    const folder = names.slice(0, depth).join("/")
    if (folders.has(folder)) continue
    folders.add(folder)
    yield { kind: "folder", path: folder, source: "" }
  }
}

/** @param path  of the entry, relative to the part's folder; "" for that itself */
async function* below(
  from: string,
  to: string,
  path: string,
  has: NonNullable<Part["has"]>,
): AsyncGenerator<FileEntry> {
  const source = join(from, path)
  const at = path === "" ? to : `${to}/${path}`
  const found = await lstat(source)
  if (found.isDirectory()) {
    if (path === "" || has(path, true)) yield { kind: "folder", path: at, source }
    // Bytes, since the order of texts depends on the language.
    const names = (await readdir(source)).toSorted(compareBytes)
    for (const name of names) yield* below(from, to, path === "" ? name : `${path}/${name}`, has)
    return
  }
  if (path !== "" && !has(path, false)) return
  if (found.isSymbolicLink()) yield { kind: "link", path: at, target: await readlink(source), source }
  else if (found.isFile())
    yield { kind: "file", path: at, size: found.size, isExecutable: (found.mode & 0o111) !== 0, source }
  else throw new UnusableTree(`${source} is neither a file, a folder nor a link: remove it from the project`)
}

const compareBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b))
