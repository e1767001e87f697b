/** Folders of sockets that servers left behind when they were killed. */
import { readdir, rm, stat } from "node:fs/promises"
import { connect } from "node:net"
import { dirname, join } from "node:path"

// A server that is just starting has a folder and nobody listens yet.
const leastAgeMs = 60_000

/**
 * Removes folders beside `prefix` whose socket nobody listens on. Asking the socket is surer than any process id,
 * which means nothing in another container that shares the folder.
 * @param prefix  path that the folders' names begin with
 */
export async function removeLeftovers(prefix: string, socketName: string): Promise<void> {
  const parent = dirname(prefix)
  const folders = (await readdir(parent)).map((name) => join(parent, name)).filter((path) => path.startsWith(prefix))
  for (const folder of folders) {
    const socketPath = join(folder, socketName)
    // Other users' folders cannot be entered, and another server may remove one at the same time: neither is ours to do.
    const ageMs = await stat(socketPath).then(
      ({ mtimeMs }) => Date.now() - mtimeMs,
      () => 0,
    )
    if (ageMs > leastAgeMs && (await isDead(socketPath))) await rm(folder, { recursive: true, force: true })
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
