/**
 * A proxy to a test's Postgres that fails as a network or a host does, while Postgres itself goes on. It understands the protocol, so a
 * fault can be aimed at the reply of one statement, at one notification, or at sessions that listen.
 */
import { once } from "node:events"
import { connect, createServer, type Socket } from "node:net"
import { setImmediate as turn } from "node:timers/promises"
import { type Aim, ArmedFault } from "./armed-fault.js"
import { type Frame, FrameSplitter, Session, type Unit } from "./postgres-wire.js"
import { resetSocket } from "./reset-socket.js"

/** What happens once. `at` says of a text whether it is the statement, or the query that a session last sent. */
export type Fault =
  /**
   * The statement is executed and committed, and its reply is lost: the connection is reset in place of it. A statement that fails is
   * no hit.
   */
  | { readonly kind: "lose reply"; readonly at: RegExp }
  /** Half of the statement's bytes arrive, then the connection is reset: it is not executed. */
  | { readonly kind: "break request"; readonly at: RegExp }
  /** From the statement on, one direction is dropped for good, and neither end hears of it; nothing is delivered later. */
  | { readonly kind: "swallow"; readonly direction: "to server" | "to client"; readonly at: RegExp }
  /** The next notification on a channel arrives later, in milliseconds; Infinity: never. */
  | { readonly kind: "hold notification"; readonly at: RegExp; readonly forMs: number }
  /** Resets the connections of all sessions that listen. */
  | { readonly kind: "cut listeners" }
  /** The statement, its reply and what follows arrive byte by byte, up to a number of bytes. */
  | { readonly kind: "slice"; readonly at: RegExp; readonly bytes: number }

export interface PostgresProxy extends AsyncDisposable {
  /** The database behind the proxy. */
  readonly uri: string
  /**
   * `reset`: open and new connections are reset. `silence`: nothing is forwarded and no connection is closed; what is sent
   * meanwhile arrives after `heal`. `vanish`: as if the host were gone and another one had its address. New connections work; on
   * those that are open nothing is forwarded any more, in neither direction, and neither end hears that the other has closed.
   */
  cut(how: "reset" | "silence" | "vanish"): void
  /** Restores the connection. Those of which a direction was dropped are reset, as by a host that is back and does not know them. */
  heal(): void
  /** Waits for the fault's moment, on any connection. */
  aim(fault: Fault): Aim
  /** Where new connections go: another Postgres that took the address. Open ones are not touched. */
  redirect(uri: string): void
}

/** @param uri  a database on a Unix socket (`?host=/folder`), as in tests, or on TCP */
export async function postgresProxy(uri: string): Promise<PostgresProxy> {
  let target = targetOf(uri)
  const connections = new Set<Connection>()
  const aims = new Set<Armed>()
  let state: "open" | "reset" | "silence" = "open"

  const listener = createServer({ noDelay: true }, (client) => {
    if (state === "reset") return void resetSocket(client)
    const connection = new Connection(client, connect(target), aims)
    connections.add(connection)
    connection.onEnd = () => connections.delete(connection)
    if (state === "silence") connection.pause()
  })
  listener.listen(0, "127.0.0.1")
  await once(listener, "listening")
  const { port } = listener.address() as { port: number }

  return {
    uri: throughTcp(uri, port),
    cut: (how) => {
      if (how === "vanish") {
        for (const connection of connections) connection.vanish()
        return
      }
      state = how
      for (const connection of connections) how === "reset" ? connection.reset() : connection.pause()
    },
    heal: () => {
      state = "open"
      for (const connection of connections) connection.hasSwallowed ? connection.reset() : connection.resume()
    },
    aim: (fault) => {
      const armed = new ArmedFault(fault, aims)
      if (fault.kind !== "cut listeners") return armed
      const listening = [...connections].filter(({ session }) => session.listens)
      for (const connection of listening) connection.reset()
      if (listening.length > 0) armed.strike()
      return armed
    },
    redirect: (other) => {
      target = targetOf(other)
    },
    [Symbol.asyncDispose]: async () => {
      for (const connection of connections) connection.destroy()
      listener.close()
      await once(listener, "close")
    },
  }
}

type Armed = ArmedFault<Fault>

type Direction = "to server" | "to client"

/** One client's connection and ours to Postgres. */
class Connection {
  readonly session = new Session()
  onEnd: () => void = () => undefined
  readonly #sockets: Readonly<Record<Direction, Socket>>
  readonly #aims: ReadonlySet<Armed>
  /** Of a unit that is not complete. */
  #request: Buffer[] = []
  /** Directions of which nothing is delivered any more. */
  readonly #swallowed = new Set<Direction>()
  /** The unit whose reply is withheld until it has ended, and what was withheld of it. */
  #withheld: { readonly unit: Unit; readonly armed: Armed; readonly frames: Buffer[]; hasFailed: boolean } | undefined
  /** How many bytes still arrive one by one. */
  #slices = 0
  /** Delivers in order, where bytes arrive one by one. */
  #delivered: Promise<void> | undefined

  constructor(client: Socket, server: Socket, aims: ReadonlySet<Armed>) {
    this.#sockets = { "to client": client, "to server": server }
    this.#aims = aims
    client.on("error", () => undefined).on("close", () => this.#closed("to server"))
    server.on("error", () => undefined).on("close", () => this.#closed("to client"))
    this.#read(client, new FrameSplitter("client"), (frame) => this.#onRequest(frame))
    this.#read(server, new FrameSplitter("server"), (frame) => this.#onReply(frame))
  }

  pause(): void {
    for (const socket of Object.values(this.#sockets)) socket.pause()
  }

  resume(): void {
    for (const socket of Object.values(this.#sockets)) socket.resume()
  }

  /** Whether what is sent in some direction is dropped. */
  get hasSwallowed(): boolean {
    return this.#swallowed.size > 0
  }

  vanish(): void {
    this.#swallowed.add("to client").add("to server")
  }

  reset(): void {
    this.#swallowed.clear()
    resetSocket(this.#sockets["to client"])
    this.#sockets["to server"].destroy()
  }

  destroy(): void {
    for (const socket of Object.values(this.#sockets)) socket.destroy()
  }

  /** Also the end of a connection is not delivered in a direction that is dropped. */
  #closed(direction: Direction): void {
    if (this.#swallowed.has(direction)) return
    this.onEnd()
    this.destroy()
  }

  #read(from: Socket, splitter: FrameSplitter, onFrame: (frame: Frame) => void): void {
    from.on("data", (chunk: Buffer) => {
      for (const frame of splitter.push(chunk)) onFrame(frame)
    })
  }

  #onRequest(frame: Frame): void {
    const unit = this.session.sent(frame)
    this.#request.push(frame.bytes)
    // They say nothing before the Sync that follows.
    if (!unit && "PBDEC".includes(frame.type || "-")) return
    const request = Buffer.concat(this.#request)
    this.#request = []
    const armed = this.#find(["break request", "swallow", "slice"], unit)
    armed?.strike()
    if (armed?.fault.kind === "break request") {
      this.#sockets["to server"].write(request.subarray(0, request.length >> 1), () => this.reset())
      return
    }
    if (armed?.fault.kind === "swallow") this.#swallowed.add(armed.fault.direction)
    if (armed?.fault.kind === "slice") this.#slices = armed.fault.bytes
    this.#deliver("to server", request)
  }

  #onReply(frame: Frame): void {
    const { answered } = this.session
    const held = frame.type === "A" ? this.#find(["hold notification"], { statements: [channelOf(frame)] }) : undefined
    if (held?.fault.kind === "hold notification") {
      held.strike()
      const { forMs } = held.fault
      if (Number.isFinite(forMs)) setTimeout(() => this.#deliver("to client", frame.bytes), forMs).unref()
      return
    }
    const armed = this.#withheld ? undefined : this.#find(["lose reply"], answered)
    if (armed && answered) this.#withheld = { unit: answered, armed, frames: [], hasFailed: false }
    const ended = this.session.received(frame)
    if (!this.#withheld) {
      this.#deliver("to client", frame.bytes)
      return
    }
    this.#withheld.frames.push(frame.bytes)
    this.#withheld.hasFailed ||= frame.type === "E"
    if (ended !== this.#withheld.unit) return
    const { hasFailed, frames, armed: losing } = this.#withheld
    this.#withheld = undefined
    // Another connection may have been quicker to lose one.
    if (hasFailed || losing.isHit) {
      this.#deliver("to client", Buffer.concat(frames))
    } else {
      losing.strike()
      this.reset()
    }
  }

  #find(kinds: readonly Fault["kind"][], unit: Unit | undefined): Armed | undefined {
    if (!unit || this.#aims.size === 0) return undefined
    return [...this.#aims].find(
      ({ fault }) =>
        kinds.includes(fault.kind) &&
        fault.kind !== "cut listeners" &&
        unit.statements.some((statement) => fault.at.test(statement)),
    )
  }

  #deliver(direction: Direction, bytes: Buffer): void {
    if (this.#swallowed.has(direction)) return
    const socket = this.#sockets[direction]
    if (this.#slices <= 0 && !this.#delivered) return void socket.write(bytes)
    const before = this.#delivered
    const delivered = this.#slice(before, socket, bytes).finally(() => {
      if (this.#delivered === delivered) this.#delivered = undefined
    })
    this.#delivered = delivered
  }

  async #slice(before: Promise<void> | undefined, socket: Socket, bytes: Buffer): Promise<void> {
    await before
    const single = Math.min(bytes.length, Math.max(this.#slices, 0))
    this.#slices -= single
    for (let place = 0; place < single; place++) {
      socket.write(bytes.subarray(place, place + 1))
      await turn()
    }
    if (single < bytes.length) socket.write(bytes.subarray(single))
  }
}

/** Of a notification: its process (4 bytes), its channel, its payload. */
const channelOf = ({ bytes }: Frame): string => bytes.toString("utf8", 9, bytes.indexOf(0, 9))

/** Where a database's server listens. */
export function targetOf(uri: string): { path: string } | { host: string; port: number } {
  const url = new URL(uri)
  const folder = url.searchParams.get("host")
  const port = Number(url.port || 5432)
  return folder === null ? { host: url.hostname, port } : { path: `${folder}/.s.PGSQL.${port}` }
}

/** The same database at a port of this machine. */
export function throughTcp(uri: string, port: number): string {
  const url = new URL(uri)
  url.searchParams.delete("host")
  url.hostname = "127.0.0.1"
  url.port = String(port)
  return url.href
}
