/**
 * Prepares the folders of the edge, which runs as a user of its own or as ours. It may pass through our folders to the sockets
 * of units and of the control plane, and owns two: one for its admin socket and one for its table. Nobody else may enter any
 * of them. We never read what is in its own folders.
 */
import { randomBytes } from "node:crypto"
import { chmod, lchown, lstat, mkdir, readdir, rename } from "node:fs/promises"
import { join } from "node:path"
import { Secret } from "@superstep/toolkit/config/settings"
import { ifCode, missing } from "@superstep/toolkit/errors/if-code"
import type { OsUser } from "@superstep/toolkit/exec/spawn-detached"
import { makeEmptyFolder } from "@superstep/toolkit/files/empty-folder"
import { readJson, writeJson } from "@superstep/toolkit/files/json-file"
import type { MachineFolders } from "../files/folders.js"

export const edgeFiles = ({ controlSockets, edge, edgeSockets, edgeState }: MachineFolders) => ({
  adminSocket: join(edgeSockets, "admin.sock"),
  /** The control plane's socket that takes requests to wake a deployment. */
  wakeSocket: join(controlSockets, "wake.sock"),
  tablePath: join(edgeState, "table.json"),
  identityFile: join(edge, "pid.json"),
  outputFile: join(edge, "out.log"),
  successorFile: join(edge, "successor.json"),
  /** Certificate and key in one file. */
  tlsFile: join(edge, "tls.pem"),
  /** Certificates of host names, each with its key in a file. */
  certificatesFolder: join(edge, "certificates"),
})

/**
 * Creates the folders and sets their owners. The edge may connect to the sockets of running units and of the control plane.
 * @param user     the edge's; undefined when it runs as our own user
 * @param control  the control plane's user, in the same group
 */
export async function prepareEdgeFolders(
  folders: MachineFolders,
  user: OsUser | undefined,
  control: OsUser | undefined,
): Promise<void> {
  const { run, unitSockets, controlSockets, edge, edgeSockets, edgeState } = folders
  const { certificatesFolder } = edgeFiles(folders)
  for (const folder of [run, unitSockets, edge, certificatesFolder]) {
    await mkdir(folder, { recursive: true })
    await share(folder, user, user ? 0o710 : 0o700)
  }
  // A folder beside them belongs to the container that creates its socket there.
  const sockets = (await readdir(unitSockets)).filter((name) => name.endsWith(".sock"))
  for (const name of sockets) await share(join(unitSockets, name), user, user ? 0o660 : 0o600)
  for (const folder of [edgeSockets, edgeState]) {
    const found = await lstat(folder).catch(ifCode(missing))
    if (found?.uid !== (user?.uid ?? process.getuid?.())) await makeEmptyFolder(folder, user ?? null)
  }
  await makeEmptyFolder(controlSockets, control ?? null)
  if (control) await chmod(controlSockets, 0o710)
  await takeFormerTable(folders, user)
}

async function share(path: string, user: OsUser | undefined, mode: number): Promise<void> {
  if (user) await lchown(path, 0, user.gid)
  await chmod(path, mode)
}

/** Releases before 0.2 kept the table elsewhere: without it, callers would get 404 until the next table arrives. */
async function takeFormerTable({ edge, edgeState }: MachineFolders, user: OsUser | undefined): Promise<void> {
  const former = join(edge, "table.json")
  if (user) await lchown(former, user.uid, user.gid).catch(ifCode(missing))
  await rename(former, join(edgeState, "table.json")).catch(ifCode(missing))
}

/** The token that the edge and the control plane of an installation share; it is generated at the first start. */
export async function edgeToken({ edge }: MachineFolders): Promise<Secret> {
  const file = join(edge, "token.json")
  const known = await readJson<string>(file)
  if (known !== undefined) return new Secret(known)
  const token = randomBytes(32).toString("base64url")
  await mkdir(edge, { recursive: true, mode: 0o700 })
  await writeJson(file, token)
  return new Secret(token)
}
