/** Stores a stream of bytes piece by piece: never all of it in memory, never more than the limit. */
import { createHash } from "node:crypto"
import type { Readable } from "node:stream"
import { pipeline } from "node:stream/promises"
import { TooLarge } from "@superstep/toolkit/errors/errors"

// Small beside what else is in memory, in each transfer; large beside the cost of a statement.
const pieceBytes = 512 * 1024

export interface Received {
  readonly sha256: string
  readonly sizeBytes: number
}

/**
 * @param store  called for one piece after the other; numbers start at 0
 * @returns      when the last piece is stored
 * @throws TooLarge
 */
export async function receive(
  incoming: Readable,
  {
    maxBytes,
    signal,
    store,
  }: { maxBytes: number; signal?: AbortSignal; store: (number: number, bytes: Buffer) => Promise<unknown> },
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
  const storeAll = async (pieces: AsyncIterable<Buffer>) => {
    let number = 0
    for await (const piece of pieces) await store(number++, piece)
  }
  await pipeline(incoming, counted, inPieces, storeAll, { signal })
  return { sha256: hash.digest("hex"), sizeBytes }
}

/** Joins small chunks; a chunk is never divided. */
async function* inPieces(chunks: AsyncIterable<Uint8Array>): AsyncIterable<Buffer> {
  let held: Uint8Array[] = []
  let heldBytes = 0
  for await (const chunk of chunks) {
    held.push(chunk)
    heldBytes += chunk.length
    if (heldBytes < pieceBytes) continue
    yield Buffer.concat(held)
    held = []
    heldBytes = 0
  }
  if (heldBytes > 0) yield Buffer.concat(held)
}

export const tooLarge = (maxBytes: number): TooLarge =>
  new TooLarge(`the archive is larger than ${maxBytes} bytes: list large files in .dockerignore or .gitignore`)
