/**
 * Restores one deployment from a backup into an installation, which may run; nothing else in it changes. The databases of the
 * backup are started beside those of the installation for a moment, and both are brought to the schema of this release: so the
 * rows of one fit into the other (docs/decisions/0029-one-deployment-is-restored-from-a-backup.md).
 */
import { existsSync } from "node:fs"
import { chown, mkdir, realpath, rename } from "node:fs/promises"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import { readConfig as readControlConfig } from "@superstep/control/config"
import { type CarriedDeployment, deploymentById } from "@superstep/control/deployments/carried-queries"
import { deleteDeployment } from "@superstep/control/deployments/operations"
import { foldersOf } from "@superstep/control/home/folders"
import { keysIn, loadMasterKey } from "@superstep/control/master-key"
import {
  assertFree,
  assertReadable,
  insertSaved,
  type Keys,
  newDatabasePassword,
  type Place,
  readSaved,
  release,
  type SavedDeployment,
} from "@superstep/control/restore/operations"
import { migrationNames } from "@superstep/control/restore/queries"
import { needsUnits } from "@superstep/control/restore/tables"
import { copyArchives } from "@superstep/control/uploads/content"
import { storeFormerFiles } from "@superstep/control/uploads/former-files"
import { listWorkspaces } from "@superstep/control/workspaces/operations"
import { machineFolders } from "@superstep/machines/parts/files/folders"
import { regroupTree } from "@superstep/machines/parts/isolation/restored-artifact"
import { type Database, openDatabase } from "@superstep/toolkit/db/database"
import { changeUri } from "@superstep/toolkit/db/database-uri"
import { migrate } from "@superstep/toolkit/db/migrate"
import { createDatabase, dropDatabase, limitConnections } from "@superstep/toolkit/db/provision"
import { KnownError } from "@superstep/toolkit/errors/errors"
import { removeTree } from "@superstep/toolkit/files/remove-tree"
import { readTables, type WrittenTables, writeTables } from "@superstep/toolkit/postgres/copy-tables"
import { postgresUser } from "@superstep/toolkit/postgres/postgres-user"
import { removeCluster } from "@superstep/toolkit/postgres/remove-cluster"
import { type RunningPostgres, startPostgres } from "@superstep/toolkit/postgres/start-postgres"
import type { Config } from "../command-line/config.js"
import { NoBackup, unpack, unpackCluster } from "../home/archive.js"
import { controlDatabaseName, controlMigrations, withControlDatabase } from "../home/control-database.js"
import type { Home } from "../home/home.js"
import { AlreadyRunning, isOwned, takeOwnership } from "../home/owner.js"

export interface RestoreRequest {
  readonly home: Home
  readonly config: Config
  readonly file: string
  /** The deployment's id or name in the backup. */
  readonly wanted: string
  /** Its name from now on; default the one that it had. */
  readonly name?: string | undefined
  /** Default the one that it belonged to, or the only one. */
  readonly workspaceId?: string | undefined
  /** Delete the present deployment with this id first. */
  readonly isReplacing: boolean
}

export interface RestoredDeployment {
  readonly deploymentId: string
  readonly name: string
  readonly revisions: number
}

/** The workspace is not clear, or the installation is not ready for a restore. */
export class CannotRestore extends KnownError {
  readonly code = "cannot_restore"
}

const command = "superstep restore --deployment"
const serverMigrations = (): string =>
  fileURLToPath(new URL("../src/migrations", import.meta.resolve("@superstep/server/main")))

const stagingOf = ({ folder }: Home): string => join(folder, "restoring")

/** @throws KnownError  nothing is changed, unless the message says so */
export async function restoreDeployment(request: RestoreRequest): Promise<RestoredDeployment> {
  const { home, config, file } = request
  if (!existsSync(home.credentials)) {
    throw new CannotRestore(`there is no installation in ${home.folder}: start one with superstep up, then repeat this`)
  }
  await using _turn = await takeTurn(home)
  await removeStaging(home)
  const staging = stagingOf(home)
  const isRunning = await isOwned(home)
  await mkdir(staging, { recursive: true, mode: 0o755 })
  try {
    await unpackCluster(file, staging)
    // It ends with this program, and has nothing to lose.
    const copy = await startPostgres({ folder: join(staging, "postgres"), log: home.log, stopWithParent: true })
    try {
      return await withControlDatabase({ home, config, command }, (db) => restoreFrom(request, { db, copy, isRunning }))
    } finally {
      await copy.stop()
    }
  } finally {
    await removeStaging(home)
  }
}

const takeTurn = (home: Home) => takeOwnership({ ...home, owner: join(home.folder, "restoring.json") }, command)

async function removeStaging(home: Home): Promise<void> {
  const staging = stagingOf(home)
  await removeCluster(join(staging, "postgres"))
  await removeTree(staging)
}

/** Removes leftovers of a killed restore; nothing while one runs. */
export async function removeKilledRestore(home: Home): Promise<void> {
  try {
    await using _turn = await takeTurn(home)
    await removeStaging(home)
  } catch (error) {
    if (!(error instanceof AlreadyRunning)) throw error
  }
}

interface Databases {
  /** The control plane's, of the installation. */
  readonly db: Database
  /** The cluster of the backup. */
  readonly copy: RunningPostgres
  /** Whether the installation runs, so that its control plane deletes what is to be replaced. */
  readonly isRunning: boolean
}

async function restoreFrom(request: RestoreRequest, { db, copy, isRunning }: Databases): Promise<RestoredDeployment> {
  const { home, file } = request
  const found = await readCopy(request, { db, copy })
  const place = { workspaceId: await workspaceFor(db, found, request), name: request.name ?? found.name }
  await assertFree(db, found, place, request)
  const present = await deploymentById(db, found.deployment_id)
  if (present && !isRunning) {
    throw new CannotRestore("the present deployment is deleted by a running installation: start superstep up first")
  }
  const saved = unpackArtifacts(found, file, stagingOf(home))
  const keys = await keysOf(request, db)
  assertReadable(saved, keys)
  const written = await writeCopy(copy, home, saved)

  if (present) await deletePresent(db, home, present)
  try {
    await insert(home, { db, copy }, saved, { place, keys, written })
  } catch (cause) {
    if (!present || !(cause instanceof KnownError)) throw cause
    const words = `${cause.message}. The former deployment is deleted already: repeat this when the reason is gone`
    throw new CannotRestore(words, { cause })
  }
  return { deploymentId: saved.deployment_id, name: place.name, revisions: saved.rows.revisions.length }
}

/** The master keys that may open the backup's secrets, and the one of the installation. */
async function keysOf({ home, config }: RestoreRequest, db: Database): Promise<Keys> {
  const settings = { ...config.environment, SUPERSTEP_HOME: home.folder, DATABASE_URI: db.uri }
  const folders = foldersOf(home.folder)
  const key = await loadMasterKey({ config: readControlConfig(settings), folders, log: home.log }, db)
  return { key, former: [...(await keysIn(stagingOf(home))), key] }
}

async function insert(
  home: Home,
  { db, copy }: Pick<Databases, "db" | "copy">,
  saved: SavedDeployment,
  { place, keys, written }: { place: Place; keys: Keys; written: WrittenDatabase | undefined },
): Promise<void> {
  const password = newDatabasePassword(keys.key, saved.deployment_id)
  if (written) await restoreDatabase(db, home, { name: written.name, password: password.clear, written })
  const databasePasswordSealed = written ? password.sealed : null
  const inserted = await insertSaved(db, saved, { place, keys, databasePasswordSealed }).catch(async (error) => {
    if (written) await dropDatabase({ adminUri: db.uri, name: written.name })
    throw error
  })
  await placeArtifacts(saved, home, inserted.number)
  await using former = openDatabase({ uri: copy.uri(controlDatabaseName), poolSize: 1, log: home.log })
  await copyArchives(former, db, saved.deployment_id)
  await release(db, saved)
}

async function readCopy(
  { home, wanted, file }: RestoreRequest,
  { db, copy }: Pick<Databases, "db" | "copy">,
): Promise<SavedDeployment> {
  const uri = copy.uri(controlDatabaseName)
  await migrate({ uri, folder: controlMigrations(), log: home.log })
  await using former = openDatabase({ uri, poolSize: 1, log: home.log })
  const known = new Set(await migrationNames(db))
  if ((await migrationNames(former)).some((name) => !known.has(name))) {
    throw new NoBackup(`${file} was made by a newer Superstep: restore it with that one`)
  }
  await storeFormerFiles(former, join(stagingOf(home), "uploads"))
  return await readSaved(former, wanted)
}

async function workspaceFor(db: Database, saved: SavedDeployment, { workspaceId }: RestoreRequest): Promise<string> {
  const workspaces = await listWorkspaces(db)
  const ids = workspaces.map(({ workspace_id }) => workspace_id)
  const chosen = workspaceId ?? (ids.includes(saved.workspace_id) || ids.length !== 1 ? saved.workspace_id : ids[0])
  if (chosen !== undefined && ids.includes(chosen)) return chosen
  const names = workspaces.map(({ workspace_id, name }) => `${workspace_id} (${name})`).join(", ")
  throw new CannotRestore(`there is no workspace ${chosen}: choose one with --workspace: ${names}`)
}

/**
 * Unpacks the artifacts of the deployment.
 * @returns  the deployment without artifacts that were deleted while the backup was made: nothing needed them any more
 * @throws NoBackup  one that is needed is not in the backup
 */
function unpackArtifacts(saved: SavedDeployment, file: string, staging: string): SavedDeployment {
  const artifacts = new Set(saved.rows.artifacts.map(({ artifact_id }) => `artifacts/${artifact_id}`))
  unpack({ file, to: staging, wants: (path) => artifacts.has(path.split("/", 2).join("/")) })
  const isThere = (id: unknown) => existsSync(join(staging, "artifacts", String(id)))
  const lost = saved.rows.revisions.find((revision) => needsUnits(revision) && !isThere(revision.artifact_id))
  if (lost) {
    throw new NoBackup(
      `${file} lacks the artifact ${lost.artifact_id}, which the deployment needs: take another backup`,
    )
  }
  const kept = saved.rows.artifacts.filter(({ artifact_id: id }) => isThere(id))
  return { ...saved, rows: { ...saved.rows, artifacts: kept } }
}

interface WrittenDatabase extends WrittenTables {
  readonly name: string
}

/** @returns  undefined when the deployment has no database yet */
async function writeCopy(
  copy: RunningPostgres,
  home: Home,
  saved: SavedDeployment,
): Promise<WrittenDatabase | undefined> {
  const { databaseName: name } = saved
  if (name === null) return undefined
  const uri = copy.uri(name)
  await migrate({ uri, folder: serverMigrations(), log: home.log })
  // Both servers run as this user, who may enter the cluster's own folder.
  const folder = join(await realpath(join(stagingOf(home), "postgres")), "tables")
  const user = postgresUser()
  await mkdir(folder, { mode: 0o700 })
  if (user) await chown(folder, user.uid, user.gid)
  return { name, ...(await writeTables({ uri, folder })) }
}

const deleteMs = 600_000
const lookMs = 500

/** Its processes may finish what they have first. */
async function deletePresent(
  db: Database,
  home: Home,
  { workspace_id: workspaceId, deployment_id: deploymentId }: CarriedDeployment,
): Promise<void> {
  await db.transaction((tx) => deleteDeployment(tx, { workspaceId, deploymentId }, { force: false }))
  home.log.info({ deployment_id: deploymentId }, "deployment deleted, to be restored from a backup")
  const deadline = performance.now() + deleteMs
  while (await deploymentById(db, deploymentId)) {
    if (performance.now() > deadline) {
      throw new CannotRestore("the present deployment is being deleted, and not gone yet: repeat this in a few minutes")
    }
    await sleep(lookMs)
  }
}

/** Leftovers of a killed restore are dropped: no row names them. */
async function restoreDatabase(
  db: Database,
  home: Home,
  { name, password, written }: { name: string; password: string; written: WrittenTables },
): Promise<void> {
  const adminUri = db.uri
  await dropDatabase({ adminUri, name })
  const uri = await createDatabase({ adminUri, name, owner: { password, connectionLimit: 2 } })
  try {
    // By its role, which then owns the tables.
    await migrate({ uri, folder: serverMigrations(), log: home.log })
    await readTables({ uri: changeUri(adminUri, { database: name }), written })
    // The planner sets the unit's share when it starts one.
    await limitConnections({ adminUri, name, limit: 0 })
  } catch (error) {
    await dropDatabase({ adminUri, name })
    throw error
  }
}

async function placeArtifacts({ rows }: SavedDeployment, home: Home, number: number): Promise<void> {
  const { artifacts } = machineFolders(home.folder)
  await mkdir(artifacts, { recursive: true, mode: 0o711 })
  for (const { artifact_id: id } of rows.artifacts) {
    const [from, to] = [join(stagingOf(home), "artifacts", String(id)), join(artifacts, String(id))]
    if (!existsSync(from)) continue
    regroupTree(from, number)
    await removeTree(to)
    await rename(from, to)
  }
}
