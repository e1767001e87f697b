/** Splits a byte stream into frames: a header line and the payload lines that it announces. */

/** One received frame: the parsed header and the payload lines without their line ends. */
export interface RawFrame {
  readonly header: Readonly<Record<string, unknown>>
  readonly payload: readonly Buffer[]
}

const lineEnd = 10

/**
 * Frames may be split anywhere. A line within one chunk is a view of it; only a line that spans chunks is copied, once.
 * Payload lines are never parsed.
 */
export class FrameReader {
  /** The start of an incomplete line. */
  #partial: Buffer[] = []
  #header: Record<string, unknown> | undefined
  #lines: Buffer[] = []
  #expected = 0

  /**
   * @returns  the frames that this chunk completes
   * @throws   an error that contains the line, when a header is not a JSON object
   */
  push(chunk: Buffer): RawFrame[] {
    const frames: RawFrame[] = []
    let start = 0
    for (let end = chunk.indexOf(lineEnd); end !== -1; end = chunk.indexOf(lineEnd, start)) {
      const frame = this.#line(this.#whole(chunk.subarray(start, end)))
      start = end + 1
      if (frame !== undefined) frames.push(frame)
    }
    if (start < chunk.length) this.#partial.push(chunk.subarray(start))
    return frames
  }

  #whole(end: Buffer): Buffer {
    if (this.#partial.length === 0) return end
    const line = Buffer.concat([...this.#partial, end])
    this.#partial = []
    return line
  }

  #line(line: Buffer): RawFrame | undefined {
    if (this.#header === undefined) {
      this.#header = parseHeader(line)
      this.#expected = Array.isArray(this.#header.payload) ? this.#header.payload.length : 0
    } else {
      this.#lines.push(line)
    }
    if (this.#lines.length < this.#expected) return undefined
    const frame = { header: this.#header, payload: this.#lines }
    this.#header = undefined
    this.#lines = []
    return frame
  }
}

function parseHeader(line: Buffer): Record<string, unknown> {
  const text = line.toString("utf8")
  try {
    const header: unknown = JSON.parse(text)
    if (typeof header === "object" && header !== null && !Array.isArray(header)) return { ...header }
  } catch (cause) {
    throw new Error(`a frame's header is not JSON: ${text.slice(0, 200)}`, { cause })
  }
  throw new Error(`a frame's header is not an object: ${text.slice(0, 200)}`)
}
