/**
 * Splits a byte stream into frames, on both sides: a header line and the payload lines that it announces (worker/README.md, "Framing").
 * Payload lines are passed on as slices of the read bytes, neither copied nor parsed.
 */

const newline = 0x0a

export class FrameReader<Header extends object> {
  readonly #parse: (line: string) => Header
  readonly #onFrame: (header: Header, payload: Buffer[]) => void
  /** The start of an incomplete line, in pieces, since a line of megabytes arrives in many chunks. */
  #unfinished: Buffer[] = []
  #header: Header | undefined
  #missing = 0
  #payload: Buffer[] = []

  /** @param parse  parses a header line; `push` passes on its errors, and the reader cannot be used after one */
  constructor(parse: (line: string) => Header, onFrame: (header: Header, payload: Buffer[]) => void) {
    this.#parse = parse
    this.#onFrame = onFrame
  }

  /** Takes a chunk of the stream and calls `onFrame` for each frame that it completes. */
  push(chunk: Buffer): void {
    let start = 0
    for (;;) {
      const end = chunk.indexOf(newline, start)
      if (end === -1) break
      const rest = chunk.subarray(start, end)
      this.#takeLine(this.#unfinished.length === 0 ? rest : this.#finish(rest))
      start = end + 1
    }
    if (start < chunk.length) this.#unfinished.push(chunk.subarray(start))
  }

  #finish(rest: Buffer): Buffer {
    const line = Buffer.concat([...this.#unfinished, rest])
    this.#unfinished = []
    return line
  }

  #takeLine(line: Buffer): void {
    if (this.#header !== undefined) {
      this.#payload.push(line)
      this.#missing -= 1
      if (this.#missing === 0) this.#emit(this.#header)
      return
    }
    const header = this.#parse(line.toString("utf8"))
    const { payload } = header as { readonly payload?: unknown }
    this.#missing = Array.isArray(payload) ? payload.length : 0
    if (this.#missing === 0) this.#onFrame(header, [])
    else this.#header = header
  }

  #emit(header: Header): void {
    const payload = this.#payload
    this.#header = undefined
    this.#payload = []
    this.#onFrame(header, payload)
  }
}
