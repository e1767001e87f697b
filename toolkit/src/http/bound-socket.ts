/**
 * Sockets that one process binds and another one listens on: the first decides where the socket is, the second serves it
 * without the right to be there. Until it listens, whoever connects is refused, as where there is no process.
 */
import { chmod, rename, rm } from "node:fs/promises"
import * as net from "node:net"
import { getSystemErrorName } from "node:util"

export interface BoundSocket extends Disposable {
  /** To be given to a process that is started. */
  readonly descriptor: number
}

interface Handle {
  readonly fd: number
  close(): void
}

// Node has it for its own clusters and documents it nowhere, hence the tests of this file.
const { _createServerHandle: createHandle } = net as unknown as {
  _createServerHandle(path: string, port: -1, type: -1): Handle | number
}

/**
 * Binds a Unix socket. It takes the place of what is at the path, also of the socket of a process that has ended.
 * Disposing of it leaves the socket to those who have its descriptor.
 * @param path  only we may write to its folder; below 96 bytes
 * @param mode  who may connect
 */
export async function bindUnixSocket(path: string, mode: number): Promise<BoundSocket> {
  // Node removes the path that it has bound when it closes its handle, even if others listen on the socket.
  const bound = `${path}.new`
  await rm(bound, { force: true })
  const handle = createHandle(bound, -1, -1)
  if (typeof handle === "number") throw new Error(`cannot bind ${path}: ${getSystemErrorName(handle)}`)
  try {
    await chmod(bound, mode)
    await rename(bound, path)
  } catch (error) {
    handle.close()
    throw error
  }
  return { descriptor: handle.fd, [Symbol.dispose]: () => handle.close() }
}
