/**
 * How an edge is replaced by that of a newer release, or with other settings, without a lost request
 * (docs/decisions/0010).
 * S1 both listen on one socket, which the former gave to the next when it started it: nobody who connects is refused,
 *    and nobody who waited to be accepted is lost with the former.
 * S2 the former goes on with what is open and with connections that clients keep; each of those ends with its next answer.
 * S3 it gets every table until it has ended, for such a connection brings one more request.
 * S4 it has one successor: whoever asks for another one has not heard of the first, which is ended. Nobody would bring it
 *    a table, and it would answer callers by the one that it began with.
 */
import { Server as NetServer } from "node:net"
import type { ProcessIdentity } from "@superstep/toolkit/exec/process-identity"
import { type DetachedCommand, spawnDetached } from "@superstep/toolkit/exec/spawn-detached"
import { stopProcess } from "@superstep/toolkit/exec/stop-process"
import type { EdgeServer } from "./server.js"

/** The descriptor that a successor finds the listening socket at. */
export const successorDescriptor = 3

export interface Succession {
  /** Starts a process that listens beside us (S1). @returns its pid */
  start(successor: Omit<DetachedCommand, "user" | "extraDescriptors">): Promise<number>
  /** Accepts nothing more and ends when all that is open has ended (S2). Fine twice. */
  retire(): void
}

export function successionOf({ server, endConnections }: EdgeServer, onEnd: () => void): Succession {
  let isRetired = false
  let started: ProcessIdentity | undefined
  const start: Succession["start"] = async (successor) => {
    // At once: at an end in order it would remove the socket that the next one answers on.
    if (started) await stopProcess(started, { graceMs: 0, signal: "SIGKILL" })
    started = await spawnDetached({ ...successor, extraDescriptors: [descriptorOf(server)] })
    return started.pid
  }
  const retire = () => {
    if (isRetired) return
    isRetired = true
    endConnections()
    // Not the close of an HTTP server: that one also ends kept connections, over which a request may be on its way.
    NetServer.prototype.close.call(server, onEnd)
  }
  return { start, retire }
}

/** Node tells it to nobody, but it is how a listening socket passes to a process that is no child of a cluster. */
function descriptorOf(server: NetServer): number {
  const { _handle: handle } = server as unknown as { _handle: { fd?: number } | null }
  if (handle?.fd === undefined || handle.fd < 0)
    throw new Error("the edge does not listen on a socket that can be passed on")
  return handle.fd
}
