/** Attempts of hostile user code to reach what belongs to another deployment, or to the platform. */
import { once } from "node:events"
import { readdir, readFile } from "node:fs/promises"
import { connect } from "node:net"
import { changeUri } from "@superstep/toolkit/db/database-uri"
import { withClient } from "@superstep/toolkit/db/with-client"

export interface Probes {
  readonly sockets?: readonly string[]
  readonly files?: readonly string[]
  readonly folders?: readonly string[]
  readonly databases?: readonly string[]
}

/** @returns  `reached` or the error code, by target */
export async function probe(probes: Probes, ownDatabaseUri: string): Promise<Record<string, string>> {
  const tries: readonly (readonly [readonly string[] | undefined, (name: string) => Promise<unknown>])[] = [
    [probes.sockets, reachSocket],
    [probes.files, (file) => readFile(file)],
    [probes.folders, (folder) => readdir(folder)],
    [probes.databases, (database) => withClient(changeUri(ownDatabaseUri, { database }), async () => undefined)],
  ]
  const found = tries.flatMap(([names = [], reach]) => names.map(async (name) => [name, await outcomeOf(reach(name))]))
  return Object.fromEntries(await Promise.all(found))
}

const outcomeOf = (reached: Promise<unknown>): Promise<string> =>
  reached.then(
    () => "reached",
    (error: NodeJS.ErrnoException) => error.code ?? error.message,
  )

async function reachSocket(path: string): Promise<void> {
  const socket = connect(path)
  await once(socket, "connect")
  socket.destroy()
}
