/**
 * A data folder as one file: its databases, what its deployments were built into, and the keys that open its secrets.
 * The databases are copied while they work; what comes from files is copied after them, so everything that a row names is
 * there.
 */
import { existsSync } from "node:fs"
import { chmod, mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises"
import { basename, dirname, join } from "node:path"
import { KnownError } from "@superstep/toolkit/errors/errors"
import { ifCode, missing } from "@superstep/toolkit/errors/if-code"
import { copyCluster, placeCluster } from "@superstep/toolkit/postgres/base-backup"
import { create, extract } from "tar"
import type { Home } from "./home.js"
import { AlreadyRunning, takeOwnership } from "./owner.js"

// What `up` does not find again by itself. Units, sockets and logs are of the machine that made them.
const kept = ["artifacts", "uploads", "git", "id", "master.key", "master.key.next", "credentials.json", "example.json"]
const stagingName = "postgres-backup"
const manifestName = "backup.json"
const format = 1

export class NoBackup extends KnownError {
  readonly code = "no_backup"
}

/**
 * @param file  where to write; it must not be there yet
 * @throws NoBackup  when it is, or when its folder is missing; AlreadyRunning  while another backup is made
 */
export async function backUp({
  home,
  superuserUri,
  file,
}: {
  home: Home
  superuserUri: string
  file: string
}): Promise<void> {
  if (existsSync(file)) throw new NoBackup(`${file} is there already: name another`)
  if (!existsSync(dirname(file))) throw new NoBackup(`there is no folder ${dirname(file)}: make it first`)
  await using _turn = await takeTurn(home)
  await removeLeftovers(home)
  const staging = join(home.folder, stagingName)
  const draft = `${file}.partial`
  await writeFile(draftNote(home), draft)
  try {
    await copyCluster({ folder: home.postgres, superuserUri, to: staging })
    const manifest = { format, made_at: new Date().toISOString() }
    await writeFile(join(staging, manifestName), JSON.stringify(manifest), { mode: 0o600 })
    const there = kept.filter((name) => existsSync(join(home.folder, name)))
    await packFolders({ folder: home.folder, names: [stagingName, ...there], file: draft })
    await chmod(draft, 0o600)
    await rename(draft, file)
  } finally {
    await removeLeftovers(home)
  }
}

/** Two would copy the databases into the same folder. */
const takeTurn = (home: Home) =>
  takeOwnership({ ...home, owner: join(home.folder, "backing-up.json") }, "superstep backup")

/** Names the draft of the backup that is being made, which may be anywhere. */
const draftNote = ({ folder }: Home): string => join(folder, "backing-up.draft")

async function removeLeftovers(home: Home): Promise<void> {
  await rm(join(home.folder, stagingName), { recursive: true, force: true })
  const draft = await readFile(draftNote(home), "utf8").catch(undefinedIfMissing)
  if (draft === undefined) return
  if (draft.endsWith(".partial")) await rm(draft, { force: true })
  // Last: as long as it is there, somebody comes back to this.
  await rm(draftNote(home))
}

/** Removes what a backup that was killed has left, which may be as large as the databases; none while one is made. */
export async function forgetKilledBackup(home: Home): Promise<void> {
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

/**
 * Packs one file after the other (`jobs: 1`): artefacts share packages by hard links with the cache, and with more jobs
 * `tar` waits for ever as soon as all of them hold files behind a link that waits for its turn.
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
 * Makes a data folder of a file. It appears whole, or not at all.
 * @throws NoBackup  when the file is none, or the folder has something in it
 */
export async function restore({ home, file }: { home: Home; file: string }): Promise<void> {
  const { folder } = home
  const there = await readdir(folder)
    .catch(ifCode(["ENOENT"], []))
    .catch((cause: Error) => {
      throw new NoBackup(`${folder} cannot be used: ${cause.message}`, { cause })
    })
  if (there.length > 0) throw new NoBackup(`${folder} is not empty: choose another with --home, or remove it first`)
  const draft = join(dirname(folder), `.${basename(folder)}.restoring`)
  await rm(draft, { recursive: true, force: true })
  await mkdir(draft, { recursive: true, mode: 0o755 })
  try {
    // At once (`sync`): else files are still written when the first error comes, into the draft that is being removed.
    extract({ cwd: draft, file, preserveOwner: process.getuid?.() === 0, strict: true, sync: true })
    await checkManifest(join(draft, stagingName, manifestName), file)
    await placeCluster(join(draft, stagingName), join(draft, basename(home.postgres)))
    await rm(join(draft, stagingName), { recursive: true })
    await rm(folder, { recursive: true, force: true })
    await rename(draft, folder)
  } catch (cause) {
    if (cause instanceof KnownError) throw cause
    throw new NoBackup(`${file} cannot be restored: ${(cause as Error).message}`, { cause })
  } finally {
    await rm(draft, { recursive: true, force: true })
  }
}

async function checkManifest(path: string, file: string): Promise<void> {
  const text = await readFile(path, "utf8").catch(ifCode(missing))
  if (text === undefined) throw new NoBackup(`${file} is no backup of Superstep`)
  if ((JSON.parse(text) as { format: number }).format !== format)
    throw new NoBackup(`${file} was made by a newer Superstep: restore it with that one`)
}
