/** Reads a .tar.gz entry by entry, and enforces limits while it is unpacked. */
import { createHash } from "node:crypto"
import { pipeline } from "node:stream/promises"
import { createGunzip } from "node:zlib"
import { Parser, type ReadEntry } from "tar"
import { type ArchiveLocation, archiveWasDeleted } from "./archive-location.js"
import { SourceFailed } from "./port.js"
import { type SourceLimits, sourceLimits } from "./source-limits.js"

export interface ArchiveLimits extends SourceLimits {
  /** Most unpacked bytes per packed byte; ignored below `freeBytes`. */
  readonly ratio: number
  readonly freeBytes: number
}

/** A small archive of very uniform text may be packed better than 1 to 100. */
export const archiveLimits: ArchiveLimits = {
  ...sourceLimits,
  ratio: 100,
  freeBytes: 32 * 1024 ** 2,
}

/**
 * Passes each entry to `onEntry`, which reads it to its end before the next one comes.
 * @returns  the SHA-256 of the packed bytes
 * @throws SourceFailed  `archive_invalid`, `archive_too_big`; and what `onEntry` throws
 */
export async function readArchive(
  { read, sizeBytes }: Pick<ArchiveLocation, "read" | "sizeBytes">,
  {
    limits,
    signal,
    onEntry,
  }: {
    readonly limits: ArchiveLimits
    readonly signal: AbortSignal
    readonly onEntry: (entry: ReadEntry) => Promise<void>
  },
): Promise<string> {
  const hash = createHash("sha256")
  const packed = async function* () {
    let readBytes = 0
    for await (const chunk of read()) {
      readBytes += chunk.length
      hash.update(chunk)
      yield chunk
    }
    if (readBytes < sizeBytes) throw archiveWasDeleted()
  }
  const allowed = Math.min(limits.bytes, Math.max(sizeBytes * limits.ratio, limits.freeBytes))
  const feed = entryFeed(limits, onEntry)
  let bytes = 0
  let rest = Buffer.alloc(0)
  const unpacked = async (chunks: AsyncIterable<Buffer>) => {
    for await (const chunk of chunks) {
      bytes += chunk.length
      if (bytes > allowed)
        throw tooBig(
          bytes > limits.bytes
            ? `is larger than ${limits.bytes} bytes`
            : "expands too much: it may be a decompression bomb",
        )
      const joined = Buffer.concat([rest, chunk])
      if (joined.length < 2) {
        rest = joined
        continue
      }
      // The parser would unpack a doubly packed archive by itself, past our limits.
      if (bytes === joined.length && isGzip(joined)) throw invalid("it is compressed twice")
      const held = unfinishedLetter(joined)
      rest = joined.subarray(joined.length - held)
      await feed.write(joined.subarray(0, joined.length - held))
    }
    await feed.end(rest)
  }
  try {
    await pipeline(packed, createGunzip(), unpacked, { signal })
  } catch (error) {
    throw isUnpackError(error) ? invalid("it is not a complete .tar.gz", error) : error
  }
  return hash.digest("hex")
}

/** A tar parser with a promise for its end. The first error counts. */
function entryFeed(limits: ArchiveLimits, onEntry: (entry: ReadEntry) => Promise<void>) {
  const parser = new Parser({ strict: true, zstd: false })
  let failure: { readonly error: unknown } | undefined
  let entries = 0
  const fail = (error: unknown) => {
    failure ??= { error }
  }
  const handle = async (entry: ReadEntry) => {
    entries++
    try {
      if (entries > limits.entries) throw tooBig(`has more than ${limits.entries} entries`)
      if (!failure) await onEntry(entry)
    } catch (error) {
      fail(error)
    }
    // An entry that is not read would block the parser.
    entry.resume()
  }
  // An entry may have been read to its end while its file is still being written.
  let handled = Promise.resolve()
  parser.on("entry", (entry: ReadEntry) => {
    handled = handled.then(() => handle(entry))
  })
  parser.on("ignoredEntry", ({ path, type }: ReadEntry) =>
    fail(invalid(`${JSON.stringify(path.slice(0, 200))} is of a kind (${type}) that is not supported`)),
  )
  parser.on("error", (error: Error) => fail(invalid(error.message, error)))
  const ended = new Promise<void>((resolve) => parser.once("end", resolve))
  const check = () => {
    if (failure) throw failure.error
  }
  return {
    async write(chunk: Buffer): Promise<void> {
      const isFlowing = parser.write(chunk)
      check()
      if (!isFlowing) await new Promise<void>((resolve) => parser.once("drain", resolve))
      check()
    },
    async end(rest: Buffer): Promise<void> {
      parser.end(rest)
      await ended
      await handled
      check()
    },
  }
}

const isGzip = (bytes: Buffer): boolean => bytes[0] === 0x1f && bytes[1] === 0x8b

/**
 * The number of bytes at the end that start a character which continues in the next chunk: the parser decodes long names
 * chunk by chunk, and would see two invalid halves.
 */
function unfinishedLetter(chunk: Buffer): number {
  for (let back = 1; back <= Math.min(3, chunk.length); back++) {
    const byte = chunk[chunk.length - back] ?? 0
    if ((byte & 0xc0) === 0x80) continue
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1
    return length > back ? back : 0
  }
  return 0
}

const isUnpackError = (error: unknown): boolean => /^Z_/.test(String((error as { code?: unknown } | null)?.code))

const invalid = (why: string, cause?: unknown) =>
  new SourceFailed("archive_invalid", `the archive cannot be used: ${why}`, { cause })

export const tooBig = (why: string) => new SourceFailed("archive_too_big", `the archive ${why}`)
