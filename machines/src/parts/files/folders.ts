/** The layout of what this machine keeps of an installation, and its creation. */
import { createHash } from "node:crypto"
import { chmod, mkdir, readdir } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { removeLeaving } from "@superstep/builder/publish"
import { makeOwnFolder } from "@superstep/toolkit/files/own-folder"
import { removeTree } from "@superstep/toolkit/files/remove-tree"

export interface MachineFolders {
  readonly home: string
  readonly artifacts: string
  readonly units: string
  /** A folder for each build. */
  readonly work: string
  /** A folder for each deployment, kept from one build to the next. */
  readonly cache: string
  /** Fetched programs: Node. */
  readonly toolchain: string
  /** Sockets. Outside the data folder when its path is too long. */
  readonly run: string
  /** Sockets of units. */
  readonly unitSockets: string
  /** The socket of the control plane. */
  readonly controlSockets: string
  /** Admin sockets of edges. */
  readonly edgeSockets: string
  readonly edge: string
  /** Files that the edge writes. */
  readonly edgeState: string
}

// A socket's path must be below 100 bytes, and "/units/<16 characters>.sock.new" is appended to the folder.
const longestRunFolder = 66

/** Pure. @param home  the data folder */
export function machineFolders(home: string): MachineFolders {
  const inHome = (name: string) => join(home, name)
  const near = inHome("run")
  const hash = createHash("sha256").update(home).digest("hex").slice(0, 12)
  const run = Buffer.byteLength(near) <= longestRunFolder ? near : join(tmpdir(), `superstep-${hash}`)
  return {
    home,
    artifacts: inHome("artifacts"),
    units: inHome("units"),
    work: inHome("work"),
    cache: inHome("cache"),
    toolchain: inHome("toolchain"),
    run,
    unitSockets: join(run, "units"),
    controlSockets: join(run, "control"),
    edgeSockets: join(run, "edge"),
    edge: inHome("edge"),
    edgeState: join(home, "edge", "state"),
  }
}

/** The socket of a unit; short, since its path must stay below 100 bytes. Pure. */
export const unitSocket = ({ unitSockets }: Pick<MachineFolders, "unitSockets">, unitId: string): string =>
  join(unitSockets, `${unitId.replaceAll("-", "").slice(-16)}.sock`)

/** The folder of one revision's build. Pure. */
export const workFolder = ({ work }: Pick<MachineFolders, "work">, revisionId: string) => {
  const folder = join(work, revisionId)
  const inFolder = (name: string) => join(folder, name)
  // The control plane puts the tree into a folder of its own, from where the machine takes it.
  const fetched = inFolder("fetched")
  return { folder, fetched, tree: inFolder("tree"), home: inFolder("home"), build: inFolder("build") }
}

/**
 * Creates the folders, and removes what killed processes have left in them. One control plane at a time calls this.
 * @throws ForeignFolder  the folder for sockets is in the temporary folder, and somebody else created it
 */
export async function prepareFolders({ artifacts, units, work, cache, run }: MachineFolders): Promise<void> {
  // Processes of other users pass through these folders to their own files; they may not list them.
  for (const folder of [artifacts, units, work, cache]) {
    // An existing folder keeps the permissions that it was given.
    if (await mkdir(folder, { recursive: true })) await chmod(folder, 0o711)
  }
  await removeLeaving(artifacts)
  await makeOwnFolder(run, 0o700)
  // Folders of units of a former release, which belong to the deployments' users.
  for (const name of await readdir(run)) if (/^[0-9a-f]{16}$/.test(name)) await removeTree(join(run, name))
}
