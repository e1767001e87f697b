/**
 * A transaction pooler for tests: it behaves like PgBouncer with `pool_mode = transaction` and one server session, which it
 * assigns to a client from a query until ReadyForQuery. PgBouncer itself may be missing on a machine that runs the tests.
 */
import { once } from "node:events"
import { connect, createServer, type Socket } from "node:net"

export interface FakePooler extends AsyncDisposable {
  readonly port: number
}

/** @param serverSocket  the Unix socket of a Postgres; the first client's login opens the session that all clients share */
export async function fakePooler(serverSocket: string): Promise<FakePooler> {
  const server = connect(serverSocket)
  const clients = new Set<Socket>()
  let borrower: Socket | undefined
  let greeting: Buffer | undefined
  const heard: Buffer[] = []

  server.on("data", (chunk: Buffer) => {
    if (!greeting) heard.push(chunk)
    borrower?.write(chunk)
    // ReadyForQuery of an idle session ends the assignment; everything before the first one is the login reply.
    if (!chunk.subarray(-6).equals(readyForQuery)) return
    greeting ??= sessionGreeting(Buffer.concat(heard))
  })
  const listener = createServer((client) => {
    clients.add(client)
    let isKnown = false
    client.on("error", () => client.destroy())
    client.on("data", (chunk: Buffer) => {
      if (!isKnown && greeting) {
        isKnown = true
        client.write(greeting)
        return
      }
      isKnown = true
      // Terminate ("X") closes only the client's own connection.
      if (chunk[0] === terminate && chunk.length === 5) return client.end()
      borrower = client
      server.write(chunk)
    })
  })
  listener.listen(0, "127.0.0.1")
  await once(listener, "listening")
  const dispose = async () => {
    for (const client of clients) client.destroy()
    server.destroy()
    listener.close()
    await once(listener, "close")
  }
  return { port: (listener.address() as { port: number }).port, [Symbol.asyncDispose]: dispose }
}

const terminate = "X".charCodeAt(0)
const readyForQuery = Buffer.from([90, 0, 0, 0, 5, 73])
const authenticationOk = Buffer.from([82, 0, 0, 0, 8, 0, 0, 0, 0])

/** From AuthenticationOk on: the reply to an accepted login. */
const sessionGreeting = (heard: Buffer): Buffer => heard.subarray(heard.indexOf(authenticationOk))
