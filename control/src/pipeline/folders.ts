/** Where things are below the data folder. Pure. */
import { createHash } from "node:crypto"
import { tmpdir } from "node:os"
import { join } from "node:path"

export interface Folders {
  readonly home: string
  readonly artifacts: string
  readonly units: string
  readonly work: string
  readonly cache: string
  /** Archives that clients sent. */
  readonly uploads: string
  /** Keys for git hosts, each while git runs. */
  readonly gitKeys: string
  /** What git takes for a home. */
  readonly gitHome: string
  /** Sockets. Elsewhere when the data folder's path is long. */
  readonly run: string
  /** Those of units. */
  readonly unitSockets: string
  /** Where edges make theirs. */
  readonly edgeSockets: string
  readonly edge: string
  /** What the edge writes. */
  readonly edgeState: string
}

// A socket's path is below 100 bytes, and "/units/<16 characters>.sock.new" comes after the folder.
const longestRunFolder = 66

export function foldersOf(home: string): Folders {
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
    uploads: inHome("uploads"),
    gitKeys: inHome("git-keys"),
    gitHome: inHome("git-home"),
    run,
    unitSockets: join(run, "units"),
    edgeSockets: join(run, "edge"),
    edge: inHome("edge"),
    edgeState: join(home, "edge", "state"),
  }
}

/** The folder of one revision's build. */
export const workFolder = (folders: Folders, revisionId: string) => {
  const folder = join(folders.work, revisionId)
  return { folder, tree: join(folder, "tree"), home: join(folder, "home"), build: join(folder, "build") }
}
