/** Removes socket folders left by killed servers. */
import { readdir, rm, stat } from "node:fs/promises"
import { connect } from "node:net"
import { dirname, join } from "node:path"

// A server that is just starting already has a folder, but does not listen yet.
const minAgeMs = 60_000

/**
 * Removes folders starting with `prefix` on whose socket no process listens. Connecting to the socket is more reliable than a
 * process id, which has no meaning in another container that shares the folder.
 * @param prefix  the start of the folders' paths
 */
export async function removeLeftovers(prefix: string, socketName: string): Promise<void> {
  const parent = dirname(prefix)
  const folders = (await readdir(parent)).map((name) => join(parent, name)).filter((path) => path.startsWith(prefix))
  for (const folder of folders) {
    const socketPath = join(folder, socketName)
    // Skip folders that cannot be read: they belong to other users, or another server is removing them.
    const ageMs = await stat(socketPath).then(
      ({ mtimeMs }) => Date.now() - mtimeMs,
      () => 0,
    )
    if (ageMs > minAgeMs && (await isDead(socketPath))) await rm(folder, { recursive: true, force: true })
  }
}

function isDead(socketPath: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(socketPath)
    socket.once("error", (error: NodeJS.ErrnoException) => resolve(error.code === "ECONNREFUSED"))
    socket.once("connect", () => {
      socket.destroy()
      resolve(false)
    })
  })
}
