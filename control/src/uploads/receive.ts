/** Streams a request's body to a file: never all of it in memory, never more than the limit. */
import { createHash } from "node:crypto"
import { createWriteStream } from "node:fs"
import { Readable } from "node:stream"
import { pipeline } from "node:stream/promises"
import type { ReadableStream } from "node:stream/web"
import { TooLarge, Unavailable } from "@superstep/toolkit/errors/errors"

export interface Received {
  readonly sha256: string
  readonly sizeBytes: number
}

/**
 * @param file    must not exist; after a failure the caller removes what is there
 * @returns       when the file is on the disk
 * @throws TooLarge | Unavailable  the disk is full
 */
export async function receive(
  body: ReadableStream<Uint8Array> | null,
  { file, maxBytes, signal }: { file: string; maxBytes: number; signal: AbortSignal },
): Promise<Received> {
  const hash = createHash("sha256")
  let sizeBytes = 0
  const counted = async function* (chunks: AsyncIterable<Uint8Array>) {
    for await (const chunk of chunks) {
      sizeBytes += chunk.length
      if (sizeBytes > maxBytes) throw tooLarge(maxBytes)
      hash.update(chunk)
      yield chunk
    }
  }
  const incoming = body ? Readable.fromWeb(body) : Readable.from([])
  try {
    // An acknowledged archive must survive a power failure.
    await pipeline(incoming, counted, createWriteStream(file, { flags: "wx", mode: 0o600, flush: true }), { signal })
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== "ENOSPC") throw cause
    throw new Unavailable("the platform's disk is full", 60_000, { cause })
  }
  return { sha256: hash.digest("hex"), sizeBytes }
}

export const tooLarge = (maxBytes: number): TooLarge =>
  new TooLarge(`the archive is larger than ${maxBytes} bytes: list large files in .dockerignore or .gitignore`)
