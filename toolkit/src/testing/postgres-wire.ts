/**
 * Reads Postgres' wire protocol (version 3, without TLS) as it passes: which statement a reply belongs to, and which session listens.
 * Pipelined and prepared statements are followed. Pure but for the state of a session. @see "Frontend/Backend Protocol" of its manual
 */

/** One message: its type, and all of its bytes. The startup message has no type. */
export interface Frame {
  readonly type: string
  readonly bytes: Buffer
}

const startupType = ""
const headBytes = 5
const encryption = new Set([80877103, 80877104])

/** Splits a direction of a connection into frames. */
export class FrameSplitter {
  #rest: Buffer = Buffer.alloc(0)
  #isStartup: boolean

  /** @param from  the client's first message has no type */
  constructor(from: "client" | "server") {
    this.#isStartup = from === "client"
  }

  /** @returns  the frames that the chunk completes @throws Error  the client asks for TLS */
  push(chunk: Buffer): Frame[] {
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk])
    const frames: Frame[] = []
    for (let frame = this.#take(); frame; frame = this.#take()) frames.push(frame)
    return frames
  }

  #take(): Frame | undefined {
    const typeBytes = this.#isStartup ? 0 : 1
    if (this.#rest.length < typeBytes + 4) return undefined
    const size = typeBytes + this.#rest.readInt32BE(typeBytes)
    if (size < typeBytes + 4) throw new Error(`a message of ${size} bytes is not of Postgres' protocol`)
    if (this.#rest.length < size) return undefined
    const bytes = this.#rest.subarray(0, size)
    this.#rest = this.#rest.subarray(size)
    if (!this.#isStartup) return { type: String.fromCharCode(bytes[0] ?? 0), bytes }
    if (encryption.has(bytes.readInt32BE(4)))
      throw new Error("this proxy reads Postgres' protocol: connect without TLS")
    this.#isStartup = false
    return { type: startupType, bytes }
  }
}

/** What is sent up to one ReadyForQuery: a simple query, or everything up to a Sync. */
export interface Unit {
  /** The texts that it executes. */
  readonly statements: readonly string[]
}

/** What one session has sent and not been answered yet. */
export class Session {
  /** Whether it has ever listened to a channel. */
  listens = false
  readonly #prepared = new Map<string, string>()
  readonly #portals = new Map<string, string>()
  #statements: string[] = []
  readonly #units: Unit[] = []

  /** The unit whose reply arrives at present; undefined before the login is over, and while nothing is asked. */
  get answered(): Unit | undefined {
    return this.#units[0]
  }

  /** @returns  the unit that the frame completes */
  sent({ type, bytes }: Frame): Unit | undefined {
    const [first = "", second = ""] = textsOf(bytes)
    if (type === "P") this.#prepared.set(first, second)
    if (type === "B") this.#portals.set(first, this.#prepared.get(second) ?? "")
    if (type === "E") this.#execute(this.#portals.get(first) ?? "")
    if (type === "Q") this.#execute(first)
    if (type !== "Q" && type !== "S") return undefined
    const unit = { statements: this.#statements }
    this.#statements = []
    this.#units.push(unit)
    return unit
  }

  /** @returns  the unit that the frame ends the reply of */
  received({ type }: Frame): Unit | undefined {
    return type === "Z" ? this.#units.shift() : undefined
  }

  #execute(statement: string): void {
    this.listens ||= /^\s*listen\s/i.test(statement)
    this.#statements.push(statement)
  }
}

/** The first two zero-terminated texts of a frame: name and statement, portal and name, or the query alone. */
function textsOf(bytes: Buffer): string[] {
  const texts: string[] = []
  for (let start = headBytes; texts.length < 2; ) {
    const end = bytes.indexOf(0, start)
    if (end === -1) break
    texts.push(bytes.toString("utf8", start, end))
    start = end + 1
  }
  return texts
}
