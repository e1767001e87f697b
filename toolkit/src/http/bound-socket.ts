/**
 * Sockets that one process binds and another one listens on: the first decides where the socket is, the second serves it
 * without rights on that place. Until it listens, connections are refused, as if there were no process.
 */
import { lookup } from "node:dns/promises"
import { chmod, lchown, rename, rm } from "node:fs/promises"
import * as net from "node:net"
import { getSystemErrorName } from "node:util"
import { AddressInUse } from "./listen.js"

export interface BoundSocket extends Disposable {
  /** To be passed to a process at its start. */
  readonly descriptor: number
}

interface Handle {
  readonly fd: number
  close(): void
  /** @returns  0, or the negative number of the system's error, also of one that binding did not report */
  getsockname(found: object): number
}

// Node uses it for its cluster module and does not document it, hence the tests of this file.
const { _createServerHandle: createHandle } = net as unknown as {
  _createServerHandle(address: string, port: number, type: 4 | 6 | -1): Handle | number
}

/**
 * Binds a Unix socket. It replaces what is at the path, also the socket of a process that has ended.
 * Disposing of it leaves the socket to the processes that have its descriptor.
 * @param path   only we may write to its folder; below 96 bytes
 * @param group  the group whose processes may connect, besides our own user; only for root
 */
export async function bindUnixSocket(path: string, group?: number): Promise<BoundSocket> {
  // Node removes the path that it has bound when it closes its handle, even if others listen on the socket.
  const bound = `${path}.new`
  await rm(bound, { force: true })
  const handle = handleOf(createHandle(bound, -1, -1), path)
  try {
    if (group !== undefined) await lchown(bound, 0, group)
    await chmod(bound, group === undefined ? 0o600 : 0o660)
    await rename(bound, path)
  } catch (error) {
    handle.close()
    throw error
  }
  return { descriptor: handle.fd, [Symbol.dispose]: () => handle.close() }
}

/**
 * Binds a TCP address, also a port that only root may bind.
 * @throws AddressInUse  another process listens there
 */
export async function bindTcpSocket({ host, port }: { host: string; port: number }): Promise<BoundSocket> {
  const { address, family } = await lookup(host)
  const handle = handleOf(createHandle(address, port, family === 6 ? 6 : 4), `${host}:${port}`)
  const problem = handle.getsockname({})
  if (problem === 0) return { descriptor: handle.fd, [Symbol.dispose]: () => handle.close() }
  handle.close()
  if (getSystemErrorName(problem) === "EADDRINUSE")
    throw new AddressInUse(`port ${port} is in use: choose another with --port`)
  throw cannotBind(`${host}:${port}`, problem)
}

function handleOf(made: Handle | number, what: string): Handle {
  if (typeof made === "number") throw cannotBind(what, made)
  return made
}

const cannotBind = (what: string, problem: number): Error =>
  new Error(`cannot bind ${what}: ${getSystemErrorName(problem)}`)
