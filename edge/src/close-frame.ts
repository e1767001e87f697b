/**
 * Closes a WebSocket that passes through the edge. The edge cannot write to the caller: the unit may be in the middle of a frame.
 * So it sends the unit a close frame as if the caller had, and the unit's reply closes the caller's side with the same code (RFC 6455
 * §5.5.1). That requires that the caller is not in the middle of a frame either.
 */

/** Says whether a caller's bytes end between two frames. */
export class FrameBoundary {
  #header: number[] = []
  #payloadLeft = 0

  get isBetweenFrames(): boolean {
    return this.#payloadLeft === 0 && this.#header.length === 0
  }

  read(chunk: Buffer): void {
    let at = 0
    while (at < chunk.length) {
      if (this.#payloadLeft > 0) {
        const skipped = Math.min(this.#payloadLeft, chunk.length - at)
        this.#payloadLeft -= skipped
        at += skipped
        continue
      }
      this.#header.push(chunk[at++] ?? 0)
      const length = payloadLength(this.#header)
      if (length === undefined) continue
      this.#payloadLeft = length
      this.#header = []
    }
  }
}

/** The length in a frame's header (RFC 6455 §5.2); undefined while the header is incomplete. */
function payloadLength(header: readonly number[]): number | undefined {
  const [, second] = header
  if (second === undefined) return undefined
  const short = second & 0x7f
  const extended = short === 127 ? 8 : short === 126 ? 2 : 0
  const mask = second & 0x80 ? 4 : 0
  if (header.length < 2 + extended + mask) return undefined
  if (extended === 0) return short
  return header.slice(2, 2 + extended).reduce((length, byte) => length * 256 + byte, 0)
}

/** A close frame of a caller. The mask is zero: it protects proxies, and none is between edge and unit. */
export function closeFrame(code: number, reason: string): Buffer {
  const text = Buffer.from(reason)
  const frame = Buffer.alloc(8 + text.length)
  frame.set([0x88, 0x80 | (2 + text.length)])
  frame.writeUInt16BE(code, 6)
  text.copy(frame, 8)
  return frame
}
