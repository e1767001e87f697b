/** Entries of a layer as bytes. The same entry gives the same bytes: no time, no owner, one of two modes. Pure. */
import { Header, Pax } from "tar"

export type Entry = { readonly path: string } & (
  | { readonly kind: "folder" }
  | { readonly kind: "file"; readonly size: number; readonly isExecutable: boolean }
  | { readonly kind: "link"; readonly target: string }
)

const blockBytes = 512
const epoch = new Date(0)

/** What stands before an entry's content. */
export function headerOf(entry: Entry): Buffer {
  const data = {
    path: entry.kind === "folder" ? `${entry.path}/` : entry.path,
    mode: entry.kind === "folder" || (entry.kind === "file" && entry.isExecutable) ? 0o755 : 0o644,
    uid: 0,
    gid: 0,
    size: entry.kind === "file" ? entry.size : 0,
    mtime: epoch,
    type: ({ folder: "Directory", file: "File", link: "SymbolicLink" } as const)[entry.kind],
    linkpath: entry.kind === "link" ? entry.target : "",
  }
  const block = Buffer.alloc(blockBytes)
  // A path that is too long, or not ASCII, is in an extended header before it.
  if (!new Header(data).encode(block)) return block
  const { path, linkpath, size, mtime } = data
  return Buffer.concat([new Pax({ path, size, mtime, ...(linkpath !== "" && { linkpath }) }).encode(), block])
}

/** What follows a content of this size, up to the next block. */
export const paddingAfter = (size: number): Buffer => Buffer.alloc((blockBytes - (size % blockBytes)) % blockBytes)

/** The end of an archive. */
export const archiveEnd: Buffer = Buffer.alloc(2 * blockBytes)
