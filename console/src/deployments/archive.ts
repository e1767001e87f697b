/** Packs files into a tar archive (POSIX ustar), for an upload from the page. Pure. */

const blockBytes = 512
const encoder = new TextEncoder()

/**
 * @param files  texts by path; paths of at most 100 bytes, as the example has
 * @throws Error  a path is longer
 */
export function tarOf(files: Readonly<Record<string, string>>): Uint8Array<ArrayBuffer> {
  const blocks = Object.entries(files).flatMap(([path, text]) => {
    const body = encoder.encode(text)
    const padded = new Uint8Array(Math.ceil(body.length / blockBytes) * blockBytes)
    padded.set(body)
    return [headerOf(path, body.length), padded]
  })
  const all = [...blocks, new Uint8Array(2 * blockBytes)]
  const archive = new Uint8Array(all.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const block of all) {
    archive.set(block, at)
    at += block.length
  }
  return archive
}

function headerOf(path: string, sizeBytes: number): Uint8Array {
  const header = new Uint8Array(blockBytes)
  const put = (at: number, text: string) => header.set(encoder.encode(text), at)
  const octal = (value: number, length: number) => value.toString(8).padStart(length - 1, "0")
  if (encoder.encode(path).length > 100) throw new Error(`${path} is longer than 100 bytes`)
  put(0, path)
  put(100, octal(0o644, 8))
  put(108, octal(0, 8))
  put(116, octal(0, 8))
  put(124, octal(sizeBytes, 12))
  put(136, octal(0, 12))
  // The sum of the header's bytes counts its own field as spaces.
  put(148, "        ")
  put(156, "0")
  put(257, "ustar\0")
  put(263, "00")
  put(
    148,
    `${octal(
      header.reduce((sum, byte) => sum + byte, 0),
      7,
    )}\0 `,
  )
  return header
}

/** Compresses as `gzip` does. */
export const gzip = (bytes: Uint8Array<ArrayBuffer>): Promise<Blob> =>
  new Response(new Blob([bytes]).stream().pipeThrough(new CompressionStream("gzip"))).blob()
