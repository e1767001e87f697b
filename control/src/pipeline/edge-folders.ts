/**
 * What the edge needs on disk, as a user of its own or as ours. It may pass through our folders on its way to the sockets of
 * units and of the control plane, and has two of its own: for its admin socket and for its table. Nobody else may enter any
 * of them. We never read what is in its own folders.
 */
import { randomBytes } from "node:crypto"
import { chmod, lchown, lstat, mkdir, readdir, rename } from "node:fs/promises"
import { join } from "node:path"
import { Secret } from "@superstep/toolkit/config/settings"
import { ifCode, missing } from "@superstep/toolkit/errors/if-code"
import type { OsUser } from "@superstep/toolkit/exec/spawn-detached"
import { readJson, writeJson } from "../files/json-file.js"
import { makeEmptyFolder } from "../files/remove-tree.js"
import type { Folders } from "./folders.js"

export const edgeFiles = ({ run, edge, edgeSockets, edgeState }: Folders) => ({
  adminSocket: join(edgeSockets, "admin.sock"),
  /** Where the control plane hears who is to wake up. */
  wakeSocket: join(run, "wake.sock"),
  tablePath: join(edgeState, "table.json"),
  identityFile: join(edge, "pid.json"),
  outputFile: join(edge, "out.log"),
  successorFile: join(edge, "successor.json"),
  /** Certificate and key. */
  tlsFile: join(edge, "tls.pem"),
})

/**
 * Makes the folders, and gives them to whom they belong now. Sockets of units that run are the edge's to connect to.
 * @param user  the edge's; undefined when it runs as we do
 */
export async function prepareEdgeFolders(folders: Folders, user: OsUser | undefined): Promise<void> {
  const { run, unitSockets, edge, edgeSockets, edgeState } = folders
  for (const folder of [run, unitSockets, edge]) {
    await mkdir(folder, { recursive: true })
    await share(folder, user, user ? 0o710 : 0o700)
  }
  for (const name of await readdir(unitSockets)) await share(join(unitSockets, name), user, user ? 0o660 : 0o600)
  for (const folder of [edgeSockets, edgeState]) {
    const found = await lstat(folder).catch(ifCode(missing))
    if (found?.uid !== (user?.uid ?? process.getuid?.())) await makeEmptyFolder(folder, user ?? null)
  }
  await takeFormerTable(folders, user)
}

async function share(path: string, user: OsUser | undefined, mode: number): Promise<void> {
  if (user) await lchown(path, 0, user.gid)
  await chmod(path, mode)
}

/** Releases before 0.2 kept it elsewhere: without it, callers would get 404 until the next table comes. */
async function takeFormerTable({ edge, edgeState }: Folders, user: OsUser | undefined): Promise<void> {
  const former = join(edge, "table.json")
  if (user) await lchown(former, user.uid, user.gid).catch(ifCode(missing))
  await rename(former, join(edgeState, "table.json")).catch(ifCode(missing))
}

/** What the edge of an installation and its control plane know each other by; it is made up at the first start. */
export async function edgeToken({ edge }: Folders): Promise<Secret> {
  const file = join(edge, "token.json")
  const known = await readJson<string>(file)
  if (known !== undefined) return new Secret(known)
  const token = randomBytes(32).toString("base64url")
  await mkdir(edge, { recursive: true, mode: 0o700 })
  await writeJson(file, token)
  return new Secret(token)
}
