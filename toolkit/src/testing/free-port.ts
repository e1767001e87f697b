/** A port for a process that a test starts, and may kill and restart. */
import { randomInt } from "node:crypto"
import { once } from "node:events"
import { closeSync, openSync } from "node:fs"
import { createServer } from "node:net"
import { join } from "node:path"

// Below the range of local ports for outgoing connections (32768 and up on Linux, 49152 on macOS), so that no client takes
// the port between a kill and the next start.
const [first, last] = [20_000, 32_000]

/**
 * Whether the port is now the caller's. A process listens some seconds after it was given its port, and until then no other test of a run of
 * `npm test` may get the same one: the run has a folder for them (`SUPERSTEP_TEST_PORTS`).
 */
function take(port: number): boolean {
  const taken = process.env.SUPERSTEP_TEST_PORTS
  if (taken === undefined) return true
  try {
    closeSync(openSync(join(taken, String(port)), "wx"))
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error
    return false
  }
}

/** @returns  a port that is free now, that no other test of the run has got, and that no outgoing connection uses */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(first, last)
    if (!take(port)) continue
    const server = createServer().listen(port, "127.0.0.1")
    try {
      await once(server, "listening")
      server.close()
      await once(server, "close")
      return port
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EADDRINUSE") throw error
    }
  }
}
