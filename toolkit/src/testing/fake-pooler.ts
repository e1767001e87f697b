/**
 * A transaction pooler for tests: it behaves like PgBouncer with `pool_mode = transaction`. It assigns a session of the server to a client from a
 * query until ReadyForQuery outside of a transaction. PgBouncer itself may be missing on a machine that runs the tests.
 */
import { once } from "node:events"
import { connect, createServer, type Socket } from "node:net"
import { targetOf, throughTcp } from "./postgres-proxy.js"

export interface FakePooler extends AsyncDisposable {
  /** The database behind the pooler. */
  readonly uri: string
}

export interface PoolerOptions {
  /** How many sessions its clients share. The first clients open them with their own logins. */
  readonly sessions?: number
  /** Which free session a query gets: the one that was used last, or (`server_round_robin`) each in turn. */
  readonly assigns?: "last used" | "in turn"
}

interface Session {
  readonly socket: Socket
  client: Socket | undefined
}

/** @param uri  a database on a Unix socket (`?host=/folder`), as in tests, or on TCP */
export async function fakePooler(
  uri: string,
  { sessions: most = 1, assigns = "last used" }: PoolerOptions = {},
): Promise<FakePooler> {
  const target = targetOf(uri)
  const sessions = new Set<Session>()
  const free: Session[] = []
  const clients = new Set<Socket>()
  /** What clients say while no session is free for them. */
  const waiting = new Map<Socket, Buffer[]>()
  /** Clients that wait for the reply to their logins. */
  const unknown = new Set<Socket>()
  let greeting: Buffer | undefined

  const open = (client: Socket) => {
    const session: Session = { socket: connect(target), client }
    const heard: Buffer[] = []
    let isLoggedIn = false
    sessions.add(session)
    const end = () => {
      sessions.delete(session)
      if (free.includes(session)) free.splice(free.indexOf(session), 1)
      session.client?.destroy()
    }
    session.socket.on("error", end).on("close", end)
    session.socket.on("data", (chunk: Buffer) => {
      if (!isLoggedIn) heard.push(chunk)
      session.client?.write(chunk)
      // ReadyForQuery outside of a transaction ends the assignment; everything before the first one is the login.
      if (!chunk.subarray(-6).equals(readyForQuery)) return
      isLoggedIn = true
      greeting ??= sessionGreeting(Buffer.concat(heard))
      for (const one of unknown) one.write(greeting)
      unknown.clear()
      release(session)
    })
    return session
  }
  const release = (session: Session) => {
    session.client = undefined
    const [next] = waiting
    if (!next) return void free.push(session)
    const [client, chunks] = next
    waiting.delete(client)
    session.client = client
    session.socket.write(Buffer.concat(chunks))
  }
  const sessionOf = (client: Socket) => [...sessions].find((session) => session.client === client)
  const logIn = (client: Socket, chunk: Buffer) => {
    if (sessions.size < most) open(client).socket.write(chunk)
    else if (greeting) client.write(greeting)
    else unknown.add(client)
  }
  const forward = (client: Socket, chunk: Buffer) => {
    // Terminate ("X") closes only the client's own connection.
    if (chunk[0] === terminate && chunk.length === 5) return void client.end()
    const queued = waiting.get(client)
    const session = sessionOf(client) ?? (queued ? undefined : assigns === "in turn" ? free.shift() : free.pop())
    if (session) {
      session.client = client
      session.socket.write(chunk)
    } else if (queued) queued.push(chunk)
    else waiting.set(client, [chunk])
  }
  const listener = createServer((client) => {
    clients.add(client)
    let isKnown = false
    client.on("error", () => client.destroy())
    client.on("data", (chunk: Buffer) => {
      isKnown ? forward(client, chunk) : logIn(client, chunk)
      isKnown = true
    })
    client.on("close", () => {
      clients.delete(client)
      waiting.delete(client)
      unknown.delete(client)
      // A session that is left in a transaction is of no use.
      sessionOf(client)?.socket.destroy()
    })
  })
  listener.listen(0, "127.0.0.1")
  await once(listener, "listening")
  const dispose = async () => {
    for (const client of clients) client.destroy()
    for (const { socket } of sessions) socket.destroy()
    listener.close()
    await once(listener, "close")
  }
  const { port } = listener.address() as { port: number }
  return { uri: throughTcp(uri, port), [Symbol.asyncDispose]: dispose }
}

const terminate = "X".charCodeAt(0)
const readyForQuery = Buffer.from([90, 0, 0, 0, 5, 73])
const authenticationOk = Buffer.from([82, 0, 0, 0, 8, 0, 0, 0, 0])

/** From AuthenticationOk on: the reply to an accepted login. */
const sessionGreeting = (heard: Buffer): Buffer => heard.subarray(heard.indexOf(authenticationOk))
