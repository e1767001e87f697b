/** A port for a process that a test starts, and perhaps kills and starts again. */
import { randomInt } from "node:crypto"
import { once } from "node:events"
import { createServer } from "node:net"

// Below the range from which systems take the local ports of outgoing connections (32768 and up on Linux, 49152 on
// macOS): between a kill and the next start no client of anybody can get it.
const [first, last] = [20_000, 32_000]

/** @returns a port that nobody has at the moment and no outgoing connection will be given */
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
