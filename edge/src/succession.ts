/**
 * Replaces an edge by that of a newer release, or by one with other settings, without losing a request
 * (docs/decisions/0010).
 * S1 both listen on one socket, which the former edge passes to the next when it starts it: no connection is refused, and
 *    connections that wait to be accepted survive the former edge.
 * S2 the former edge goes on with what is open and with kept-alive connections; each of those closes with its next answer.
 * S3 it gets every table until it has ended, since such a connection brings one more request.
 * S4 it has one successor: a request for another means that the control plane does not know the first, so the first is
 *    killed. It would get no tables and serve callers by the table that it started with.
 */
import { readFile } from "node:fs/promises"
import { Server as NetServer } from "node:net"
import type { ProcessIdentity } from "@superstep/toolkit/exec/process-identity"
import { spawnDetached } from "@superstep/toolkit/exec/spawn-detached"
import { stopProcess } from "@superstep/toolkit/exec/stop-process"
import { z } from "zod"
import type { EdgeServer } from "./server.js"

/** The descriptor of the socket that every edge listens on. */
export const listenDescriptor = 3
/** The same for plain HTTP, where the edge has such a socket. */
export const plainDescriptor = 4

/**
 * How to start the next edge. The control plane writes it into a file that nobody else can write; no request decides what
 * is executed.
 */
const successorSchema = z.object({
  argv: z.tuple([z.string()], z.string()),
  /** Its whole environment. */
  env: z.record(z.string(), z.string()),
  cwd: z.string().startsWith("/"),
})
export type Successor = z.infer<typeof successorSchema>

export interface Succession {
  /** Starts the process that the successor file describes; it listens on the same socket (S1). @returns  its pid */
  start(): Promise<number>
  /** Stops accepting and exits when all that is open has ended (S2). May be called twice. */
  retire(): void
}

export function successionOf(
  { server, plain, endConnections }: EdgeServer,
  { successorFile, onEnd }: { readonly successorFile: string; readonly onEnd: () => void },
): Succession {
  let isRetired = false
  let started: ProcessIdentity | undefined
  const start: Succession["start"] = async () => {
    const successor = successorSchema.parse(JSON.parse(await readFile(successorFile, "utf8")))
    // SIGKILL: an orderly exit would remove the admin socket that the next successor answers on.
    if (started) await stopProcess(started, { graceMs: 0, signal: "SIGKILL" })
    const extraDescriptors = plain ? [listenDescriptor, plainDescriptor] : [listenDescriptor]
    started = await spawnDetached({ ...successor, outputFile: undefined, extraDescriptors })
    return started.pid
  }
  const retire = () => {
    if (isRetired) return
    isRetired = true
    endConnections()
    plain?.close()
    // Not the close of an HTTP server: that also closes idle kept-alive connections, over which a request may be on its way.
    NetServer.prototype.close.call(server, onEnd)
  }
  return { start, retire }
}
