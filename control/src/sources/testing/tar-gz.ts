/** Builds archives byte by byte, also invalid ones that no tool creates. */

import { createHash } from "node:crypto"
import { gzipSync } from "node:zlib"
import type { ArchiveLocation } from "../archive-location.js"

export interface TarEntry {
  readonly path: string | Buffer
  readonly content?: string | Buffer
  /** The type flag: `0` file, `1` hard link, `2` symbolic link, `3` and `4` devices, `5` folder, `6` pipe. */
  readonly type?: string
  readonly mode?: number
  readonly linkTo?: string
}

const block = 512

/** One entry: its header (POSIX ustar) and its content in whole blocks. */
function entryBytes({ path, content = "", type = "0", mode = 0o644, linkTo = "" }: TarEntry): Buffer {
  const header = Buffer.alloc(block)
  const body = Buffer.from(content)
  const octal = (value: number, at: number, length: number) =>
    header.write(`${value.toString(8).padStart(length - 1, "0")}\0`, at)
  Buffer.from(path).copy(header, 0, 0, 100)
  octal(mode, 100, 8)
  octal(0, 108, 8)
  octal(0, 116, 8)
  octal(body.length, 124, 12)
  octal(0, 136, 12)
  header.write(type, 156)
  header.write(linkTo, 157)
  header.write("ustar\u000000", 257)
  header.write("        ", 148)
  octal(
    header.reduce((sum, byte) => sum + byte, 0),
    148,
    7,
  )
  return Buffer.concat([header, body, Buffer.alloc((block - (body.length % block)) % block)])
}

/** A name of any length and characters, as Python's tarfile writes it: in an extended header before the entry. */
export function longName(path: string, entry: Omit<TarEntry, "path"> = {}): TarEntry[] {
  const record = (length: number) => `${length} path=${path}\n`
  let length = Buffer.byteLength(path) + 8
  while (Buffer.byteLength(record(length)) !== length) length = Buffer.byteLength(record(length))
  return [
    { path: "PaxHeaders/x", type: "x", content: record(length) },
    { path: "short", ...entry },
  ]
}

export const tar = (entries: readonly TarEntry[]): Buffer =>
  Buffer.concat([...entries.map(entryBytes), Buffer.alloc(2 * block)])

export const tarGz = (entries: readonly TarEntry[]): Buffer => gzipSync(tar(entries))

// Names and headers are then divided between pieces, too.
const pieceBytes = 1000

/** An upload of these bytes. */
export const uploaded = (bytes: Buffer): ArchiveLocation => ({
  sha256: createHash("sha256").update(bytes).digest("hex"),
  sizeBytes: bytes.length,
  read: async function* () {
    for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes)
  },
})
