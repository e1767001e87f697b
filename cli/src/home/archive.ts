/**
 * A data folder as one file: its databases, the artifacts of its deployments, and the keys of its secrets. The databases are
 * copied while they are in use; files are linked after them, so that everything a row refers to is included, and packed from those links:
 * an artifact may be removed in the meantime.
 */
import { existsSync, realpathSync, type Stats, symlinkSync } from "node:fs"
import { chmod, mkdir, open, readdir, readFile, rename, rm, rmdir, writeFile } from "node:fs/promises"
import { basename, dirname, isAbsolute, join, relative, resolve } from "node:path"
import { takeOwnId } from "@superstep/control/home/home"
import { KnownError } from "@superstep/toolkit/errors/errors"
import { ifCode, missing } from "@superstep/toolkit/errors/if-code"
import { removeTree } from "@superstep/toolkit/files/remove-tree"
import { copyCluster, placeCluster } from "@superstep/toolkit/postgres/base-backup"
import { create, extract, list, type ReadEntry } from "tar"
import type { Home } from "./home.js"
import { linkArtifacts, linkTree } from "./link-tree.js"
import { AlreadyRunning, isOwned, takeOwnership } from "./owner.js"

// What `up` does not create again. Units, sockets and logs belong to the machine that created them. `uploads` is there until the
// first start after a release before 0.2, and then empty.
const kept = ["artifacts", "uploads", "git", "id", "master.key", "master.key.next", "credentials.json", "example.json"]
// The folders of a backup under way, by the names that they have in it.
const stagingName = "backing-up.files"
const clusterName = "postgres-backup"
const manifestName = "backup.json"
const format = 1

export class NoBackup extends KnownError {
  readonly code = "no_backup"
}

/** Runs a part of a backup that may take minutes, and shows it. */
export type BackupStep = <T>(name: string, work: () => Promise<T>) => Promise<T>

/**
 * @param file  where to write; it must not exist yet
 * @param step  shows progress; by default none
 * @throws NoBackup  when it exists, or when its folder is missing; AlreadyRunning  while another backup runs
 */
export async function backUp({
  home,
  superuserUri,
  file,
  step = (_, work) => work(),
}: {
  home: Home
  superuserUri: string
  file: string
  step?: BackupStep
}): Promise<void> {
  if (existsSync(file)) throw new NoBackup(`${file} exists already: choose another name`)
  if (!existsSync(dirname(file))) throw new NoBackup(`the folder ${dirname(file)} does not exist: create it first`)
  await using _turn = await takeTurn(home)
  await removeLeftovers(home)
  const staging = join(home.folder, stagingName)
  const cluster = join(staging, clusterName)
  const draft = `${file}.partial`
  await writeFile(draftNote(home), draft)
  try {
    await mkdir(staging, { mode: 0o700 })
    await step("copying the databases", () => copyCluster({ folder: home.postgres, superuserUri, to: cluster }))
    const manifest = { format, made_at: new Date().toISOString() }
    await writeFile(join(cluster, manifestName), JSON.stringify(manifest), { mode: 0o600 })
    await step("packing them with the code of all deployments", async () => {
      await linkKept(home.folder, staging)
      await packFolders({ folder: staging, names: await readdir(staging), file: draft })
    })
    await chmod(draft, 0o600)
    await step("reading the backup back", () => verify(draft))
    await flush(draft)
    await rename(draft, file)
  } finally {
    await removeLeftovers(home)
  }
}

const needed = [manifestName, "password", "data/PG_VERSION", "data/backup_label", "data/global/pg_control"]

/**
 * Reads a whole backup, as a restore does: every block has its checksum, and what a restore needs is there.
 * @throws NoBackup  naming what is wrong
 */
export async function verify(file: string): Promise<void> {
  const missingFiles = new Set(needed)
  const below = `${clusterName}/`
  try {
    const onReadEntry = ({ path }: { path: string }) => {
      if (path.startsWith(below)) missingFiles.delete(path.slice(below.length))
    }
    await list({ file, strict: true, onReadEntry })
  } catch (cause) {
    throw new NoBackup(`the backup cannot be read back: ${(cause as Error).message}`, { cause })
  }
  if (missingFiles.size > 0) throw new NoBackup(`the backup lacks ${[...missingFiles].join(", ")}`)
}

/** A backup is there only when its bytes are on the disk. */
async function flush(file: string): Promise<void> {
  await using handle = await open(file, "r+")
  await handle.sync()
}

/** Two backups at once would copy the databases into the same folder. */
const takeTurn = (home: Home) => takeOwnership({ ...home, owner: turnFile(home) }, "superstep backup")

/** Whether a backup is being made at this moment. */
export const isBackingUp = (home: Home): Promise<boolean> => isOwned({ ...home, owner: turnFile(home) })

const turnFile = ({ folder }: Home): string => join(folder, "backing-up.json")

/** Names the draft of the backup under way, which may be in any folder. */
const draftNote = ({ folder }: Home): string => join(folder, "backing-up.draft")

async function removeLeftovers(home: Home): Promise<void> {
  await removeTree(join(home.folder, stagingName))
  // Of a release that copied the databases beside the other folders.
  await removeTree(join(home.folder, clusterName))
  const draft = await readFile(draftNote(home), "utf8").catch(undefinedIfMissing)
  if (draft === undefined) return
  if (draft.endsWith(".partial")) await rm(draft, { force: true })
  // Last: while it exists, the next start repeats this cleanup.
  await rm(draftNote(home))
}

/** Removes leftovers of a killed backup, which may be as large as the databases; nothing while a backup runs. */
export async function removeKilledBackup(home: Home): Promise<void> {
  try {
    await using _turn = await takeTurn(home)
    await removeLeftovers(home)
  } catch (error) {
    if (!(error instanceof AlreadyRunning)) throw error
  }
}

function undefinedIfMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== "ENOENT") throw error
}

async function linkKept(folder: string, staging: string): Promise<void> {
  for (const name of kept.filter((it) => existsSync(join(folder, it)))) {
    const linked = name === "artifacts" ? linkArtifacts : linkTree
    await linked(join(folder, name), join(staging, name))
  }
}

/**
 * Packs one file after the other (`jobs: 1`): artifacts share packages by hard links with the cache, and with more jobs
 * `tar` waits forever when all of them hold files behind a link that waits for its turn.
 */
export async function packFolders({
  folder,
  names,
  file,
}: {
  folder: string
  names: readonly string[]
  file: string
}): Promise<void> {
  await create({ cwd: folder, file, gzip: { level: 1 }, mode: 0o600, jobs: 1 }, [...names])
}

/**
 * Creates a data folder from a backup. It is complete, or `openHome` refuses it. The backup is unpacked below the folder, which may be
 * a mount point: nothing can be moved into it from its parent, and it cannot be replaced. When all is unpacked, the draft gets a second
 * name: a restore that stops before it is renamed begins anew, and one that stops while its entries are moved is completed.
 * @returns  whether it completed an earlier restore, without reading the file
 * @throws NoBackup  when the file is no backup, the folder is not empty, or the backup cannot be moved into it
 */
export async function restore({
  home,
  file,
}: {
  home: Home
  file: string
}): Promise<{ readonly isCompletion: boolean }> {
  const isCompletion = existsSync(home.restored)
  if (!isCompletion) await unpackAll(home, file)
  await moveUp(home)
  return { isCompletion }
}

async function unpackAll({ folder, restoring: draft, restored, postgres }: Home, file: string): Promise<void> {
  const there = await readdir(folder)
    .catch(ifCode(["ENOENT"]))
    .catch((cause: Error) => {
      throw new NoBackup(`${folder} cannot be used: ${cause.message}`, { cause })
    })
  // A file system has the one in its root; a killed restore has left the other.
  const harmless = ["lost+found", basename(draft)]
  if (there?.some((name) => !harmless.includes(name)))
    throw new NoBackup(`${folder} is not empty: choose another folder with --home, or remove it first`)
  await rm(draft, { recursive: true, force: true })
  await mkdir(draft, { recursive: true, mode: 0o755 })
  try {
    unpack({ file, to: draft, wants: () => true })
    await checkManifest(join(draft, clusterName, manifestName), file)
    await placeCluster(join(draft, clusterName), join(draft, basename(postgres)))
    await rm(join(draft, clusterName), { recursive: true })
    await takeOwnId(draft)
    await rename(draft, restored)
  } catch (cause) {
    // A folder that cannot be removed must not hide the cause.
    await rm(draft, { recursive: true, force: true }).catch(() => {})
    if (there === undefined) await rmdir(folder).catch(() => {})
    if (cause instanceof KnownError) throw cause
    throw new NoBackup(`${file} cannot be restored: ${(cause as Error).message}`, { cause })
  }
}

/** Moves what is still in the unpacked backup into the data folder. */
async function moveUp({ folder, restored, credentials }: Home): Promise<void> {
  // The credentials last: with them the folder is an installation.
  const last = basename(credentials)
  try {
    const names = (await readdir(restored)).sort((one, other) => Number(one === last) - Number(other === last))
    for (const name of names) await rename(join(restored, name), join(folder, name))
    await rmdir(restored)
  } catch (cause) {
    const { message } = cause as Error
    throw new NoBackup(
      `the backup is unpacked in ${restored}, but cannot be moved into ${folder} (${message}): run superstep restore again to complete it`,
      { cause },
    )
  }
}

/**
 * Unpacks parts of a backup into a folder.
 * @param wants  gets the path of each entry, such as `artifacts/<id>/package.json`
 * @throws NoBackup  the file is no backup, or cannot be read
 */
export function unpack({ file, to, wants }: { file: string; to: string; wants: (path: string) => boolean }): void {
  // Links that leave the folder, such as that to the interpreter of a Python environment; `tar` refuses them, since it could write through them.
  const linksOut: { readonly path: string; readonly target: string }[] = []
  const root = realpathSync(to)
  const leaves = (path: string) => relative(root, path).split("/")[0] === ".."
  const filter = (path: string, entry: Stats | ReadEntry): boolean => {
    if (!wants(path)) return false
    const target = "linkpath" in entry && entry.type === "SymbolicLink" ? entry.linkpath : undefined
    if (target === undefined || !(isAbsolute(target) || leaves(resolve(root, dirname(path), target)))) return true
    linksOut.push({ path, target })
    return false
  }
  try {
    // Synchronous: else files would still be written after the first error, into the folder that is being removed.
    extract({ cwd: to, file, preserveOwner: process.getuid?.() === 0, strict: true, sync: true, filter })
    // After all files: none is written through them.
    for (const { path, target } of linksOut) {
      const folder = realpathSync(join(to, dirname(path)))
      if (leaves(folder)) throw new Error(`${path} is outside of the folder`)
      symlinkSync(target, join(folder, basename(path)))
    }
  } catch (cause) {
    throw new NoBackup(`${file} cannot be restored: ${(cause as Error).message}`, { cause })
  }
}

/**
 * Unpacks the databases of a backup, the keys of its secrets, and archives that are not in the databases yet.
 * @param to  an empty folder; it gets `postgres`, for `startPostgres`, the files of the keys, and perhaps `uploads`
 * @throws NoBackup  the file is no backup, or cannot be read
 */
export async function unpackCluster(file: string, to: string): Promise<void> {
  const below = [`${clusterName}/`, "master.key", "uploads/"]
  unpack({ file, to, wants: (path) => below.some((start) => path.startsWith(start)) })
  await checkManifest(join(to, clusterName, manifestName), file)
  await placeCluster(join(to, clusterName), join(to, "postgres"))
}

async function checkManifest(path: string, file: string): Promise<void> {
  const text = await readFile(path, "utf8").catch(ifCode(missing))
  if (text === undefined) throw new NoBackup(`${file} is not a Superstep backup`)
  if ((JSON.parse(text) as { format: number }).format !== format)
    throw new NoBackup(`${file} was created by a newer version of Superstep: restore it with that version`)
}
