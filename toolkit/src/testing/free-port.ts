/** A port for a process that a test starts, and may kill and restart. */
import { randomInt } from "node:crypto"
import { once } from "node:events"
import { closeSync, mkdirSync, openSync, rmSync, statSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"

// Below the range of local ports for outgoing connections (32768 and up on Linux, 49152 on macOS), so that no client takes
// the port between a kill and the next start.
const [first, last] = [20_000, 32_000]

// A process listens some seconds after it was given its port; until then another test must not get the same one.
const taken = join(tmpdir(), "superstep-test-ports")
const takenForMs = 3_600_000

/** Whether the port is now this test's, of all that have the same temporary folder. */
function take(port: number): boolean {
  mkdirSync(taken, { recursive: true })
  const file = join(taken, String(port))
  try {
    closeSync(openSync(file, "wx"))
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error
    // In a folder that outlives a run of tests.
    if (Date.now() - statSync(file).mtimeMs > takenForMs) rmSync(file, { force: true })
    return false
  }
}

/** @returns  a port that is free now, that no other test has got, and that no outgoing connection uses */
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
