/** A port for a process that a test starts, and may kill and restart. */
import { randomInt } from "node:crypto"
import { once } from "node:events"
import { createServer } from "node:net"

// Below the range of local ports for outgoing connections (32768 and up on Linux, 49152 on macOS), so that no client takes
// the port between a kill and the next start.
const [first, last] = [20_000, 32_000]

/** @returns  a port that is free now and that no outgoing connection uses */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(first, last)
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
