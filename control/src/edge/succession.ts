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
import { readFile } from "node:fs/promises"
import { Server as NetServer } from "node:net"
import type { ProcessIdentity } from "@superstep/toolkit/exec/process-identity"
import { spawnDetached } from "@superstep/toolkit/exec/spawn-detached"
import { stopProcess } from "@superstep/toolkit/exec/stop-process"
import { z } from "zod"
import type { EdgeServer } from "./server.js"

/** The descriptor at which every edge finds the socket that it listens on. */
export const listenDescriptor = 3

/**
 * How the next edge is started. The control plane writes it into a file, where nobody else can; no request says what is
 * executed.
 */
const successorSchema = z.object({
  argv: z.tuple([z.string()], z.string()),
  /** Its whole environment. */
  env: z.record(z.string(), z.string()),
  cwd: z.string().startsWith("/"),
})
export type Successor = z.infer<typeof successorSchema>

export interface Succession {
  /** Starts the process that the successor's file describes; it listens beside us (S1). @returns its pid */
  start(): Promise<number>
  /** Accepts nothing more and ends when all that is open has ended (S2). Fine twice. */
  retire(): void
}

export function successionOf(
  { server, endConnections }: EdgeServer,
  { successorFile, onEnd }: { readonly successorFile: string; readonly onEnd: () => void },
): Succession {
  let isRetired = false
  let started: ProcessIdentity | undefined
  const start: Succession["start"] = async () => {
    const successor = successorSchema.parse(JSON.parse(await readFile(successorFile, "utf8")))
    // At once: at an end in order it would remove the socket that the next one answers on.
    if (started) await stopProcess(started, { graceMs: 0, signal: "SIGKILL" })
    started = await spawnDetached({ ...successor, outputFile: undefined, extraDescriptors: [listenDescriptor] })
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
