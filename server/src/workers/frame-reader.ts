/**
 * Cuts a byte stream into frames: a header line and the payload lines it announces (protocol/worker, "Framing").
 * Payload lines are handed on as slices of what was read, neither copied nor parsed (architecture D3).
 */

const newline = 0x0a

/** What the reader itself needs of a header. */
export interface Announcing {
  readonly type: string
  /** One name for each payload line that follows. */
  readonly payload?: readonly string[]
}

export class FrameReader<Header extends Announcing> {
  readonly #parse: (line: string) => Header
  readonly #onFrame: (header: Header, payload: Buffer[]) => void
  /** The beginning of a line whose end has not come: pieces, since a line of megabytes comes in many. */
  #unfinished: Buffer[] = []
  #header: Header | undefined
  #missing = 0
  #payload: Buffer[] = []

  /** @param parse  reads a header line; what it throws comes out of `push`, and the reader is not usable after it */
  constructor(parse: (line: string) => Header, onFrame: (header: Header, payload: Buffer[]) => void) {
    this.#parse = parse
    this.#onFrame = onFrame
  }

  /** Takes what came from the stream and calls `onFrame` for each frame that is complete with it. */
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
    this.#missing = header.payload?.length ?? 0
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
