/**
 * The Unix socket to which this server's workers connect. It is in a folder that only this user can enter, and a connection
 * is accepted when its `hello` names a worker that was started and has not connected yet.
 */
import { mkdtemp, rm } from "node:fs/promises"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Log } from "@superstep/toolkit/log/log"
import { Connection } from "./connection.js"
import { removeLeftovers } from "./leftover-sockets.js"

export interface WorkerSocket {
  readonly path: string
  /** Calls `onConnect` when the worker with this id sends its hello. @returns a function that stops waiting for it */
  expect(workerId: string, onConnect: (connection: Connection) => void): () => void
  /** Closes all connections and removes the folder. */
  close(): Promise<void>
}

// Linux allows 108 bytes, macOS 104; a longer TMPDIR would cause an error that is hard to understand.
const longestPathBytes = 100

/**
 * Makes a folder for a socket that only this user can enter, and removes folders left by killed servers.
 * @param kind  part of the folder's name, such as `workers`
 */
export async function makeSocketFolder(kind: string, socketName: string): Promise<string> {
  const usual = join(tmpdir(), `superstep-${kind}-`)
  const fits = Buffer.byteLength(join(`${usual}xxxxxx`, socketName)) < longestPathBytes
  const prefix = fits ? usual : `/tmp/superstep-${kind}-`
  await removeLeftovers(prefix, socketName)
  // mkdtemp creates the folder with mode 0700.
  return mkdtemp(prefix)
}

const socketName = "workers.sock"

export async function openWorkerSocket(log: Log): Promise<WorkerSocket> {
  const folder = await makeSocketFolder("workers", socketName)
  const path = join(folder, socketName)
  const expected = new Map<string, (connection: Connection) => void>()
  const connections = new Set<Connection>()

  const server = createServer((socket) => {
    const connection = new Connection(socket, {
      onFrame: (frame) => {
        const onConnect = frame.type === "hello" ? expected.get(frame.worker_id) : undefined
        if (!onConnect) return connection.close(`expected the hello of a worker that was started, not ${frame.type}`)
        if (frame.type === "hello") expected.delete(frame.worker_id)
        onConnect(connection)
      },
      // For example another server that checks whether the socket is still in use (leftover-sockets.ts).
      onClose: (reason) => log.debug({ reason }, "a connection ended before its hello"),
    })
    connections.add(connection)
    socket.on("close", () => connections.delete(connection))
  })
  await new Promise<void>((resolve, reject) => server.once("error", reject).listen(path, resolve))

  return {
    path,
    expect: (workerId, onConnect) => {
      expected.set(workerId, onConnect)
      return () => expected.delete(workerId)
    },
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve))
      for (const connection of connections) connection.close("the server stops")
      await closed
      await rm(folder, { recursive: true, force: true })
    },
  }
}
