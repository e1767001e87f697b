/**
 * Copies a cluster while it runs, with Postgres' low-level base backup (its manual, "Continuous archiving"). The copy starts
 * like a cluster after a power failure, and contains everything that was committed when the backup ended.
 *
 * Files change while they are copied; the write-ahead log, which is copied last, repairs that at the start of the copy. A
 * temporary replication slot keeps Postgres from recycling that log; slot and backup end with the session, even if it is killed.
 */
import { constants } from "node:fs"
import { chmod, chown, copyFile, lstat, mkdir, readdir, rename, writeFile } from "node:fs/promises"
import { join } from "node:path"
import pg from "pg"
import { ifCode } from "../errors/if-code.js"
import { makeClusterFolder } from "./folders.js"
import { postgresUser } from "./postgres-user.js"

// Created again at each start; the list is that of the manual for base backups.
const emptied = new Set([
  "pg_dynshmem",
  "pg_notify",
  "pg_replslot",
  "pg_serial",
  "pg_snapshots",
  "pg_stat_tmp",
  "pg_subtrans",
  "pg_wal",
])
const leftOut = /^(postmaster\.(pid|opts)|pgsql_tmp.*|pg_internal\.init.*|backup_label.*|tablespace_map.*)$/
const walSegment = /^([0-9A-F]{24}|[0-9A-F]{8}\.history)$/

/**
 * @param folder        the cluster's folder, as for `startPostgres`
 * @param superuserUri  connects to the running cluster
 * @param to            must not exist yet; gets `data` and `password`
 */
export async function copyCluster({
  folder,
  superuserUri,
  to,
}: {
  folder: string
  superuserUri: string
  to: string
}): Promise<void> {
  const [data, copy] = [join(folder, "data"), join(to, "data")]
  await mkdir(to, { mode: 0o700 })
  const session = new pg.Client({ connectionString: superuserUri })
  await session.connect()
  try {
    await session.query(
      "select pg_create_physical_replication_slot('superstep_backup_' || pg_backend_pid(), true, true)",
    )
    await session.query("select pg_backup_start('superstep', true)")
    await copyFolder(data, copy, "")
    const { rows } = await session.query<{ labelfile: string; spcmapfile: string }>(
      "select labelfile, spcmapfile from pg_backup_stop(false)",
    )
    await writeFile(join(copy, "backup_label"), rows[0]?.labelfile ?? "", { mode: 0o600 })
    for (const name of await readdir(join(data, "pg_wal"))) {
      if (walSegment.test(name)) await copyIfThere(join(data, "pg_wal", name), join(copy, "pg_wal", name))
    }
    await mkdir(join(copy, "pg_wal/archive_status"), { mode: 0o700, recursive: true })
  } finally {
    await session.end()
  }
  await copyFile(join(folder, "password"), join(to, "password"))
}

async function copyFolder(from: string, to: string, below: string): Promise<void> {
  await mkdir(to, { mode: 0o700 })
  for (const entry of await readdir(from, { withFileTypes: true })) {
    if (leftOut.test(entry.name)) continue
    const [source, target] = [join(from, entry.name), join(to, entry.name)]
    if (entry.isFile()) await copyIfThere(source, target)
    else if (!entry.isDirectory())
      throw new Error(`${source} is neither a file nor a folder: clusters with tablespaces are not supported`)
    else if (below === "" && emptied.has(entry.name)) await mkdir(target, { mode: 0o700 })
    else await copyFolder(source, target, `${below}${entry.name}/`)
  }
}

/** The file of a table that is dropped meanwhile disappears; the write-ahead log drops the table in the copy too. */
async function copyIfThere(from: string, to: string): Promise<void> {
  await copyFile(from, to, constants.COPYFILE_FICLONE).catch(ifCode(["ENOENT"]))
}

/**
 * Moves a copy into the folder of a cluster, for the next `startPostgres`.
 * @param from    the result of `copyCluster`; it is moved
 * @param folder  has no cluster yet
 */
export async function placeCluster(from: string, folder: string): Promise<void> {
  const user = postgresUser()
  const cluster = await makeClusterFolder(folder, user)
  if (user) await giveTo(join(from, "data"), user)
  await chmod(join(from, "data"), 0o700)
  await rename(join(from, "password"), join(cluster, "password"))
  await move(join(from, "data"), join(cluster, "data"))
}

/** The cluster of a root process may be on another disk (`folders.ts`). */
async function move(from: string, to: string): Promise<void> {
  try {
    await rename(from, to)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EXDEV") throw error
    await copyAll(from, to)
  }
}

async function copyAll(from: string, to: string): Promise<void> {
  const { mode, uid, gid } = await lstat(from)
  await mkdir(to, { mode })
  await chown(to, uid, gid)
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)]
    if (entry.isDirectory()) await copyAll(source, target)
    else {
      await copyFile(source, target)
      await chown(target, uid, gid)
    }
  }
}

async function giveTo(path: string, user: { readonly uid: number; readonly gid: number }): Promise<void> {
  await chown(path, user.uid, user.gid)
  for (const entry of await readdir(path, { withFileTypes: true })) {
    const child = join(path, entry.name)
    if (entry.isDirectory()) await giveTo(child, user)
    else await chown(child, user.uid, user.gid)
  }
}
