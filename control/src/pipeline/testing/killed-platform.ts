/**
 * A platform that tests kill: with one deployment that serves, and a Postgres of its own, in which everything is the
 * platform's, so that a test sees what is left.
 */
import { randomBytes } from "node:crypto"
import { join } from "node:path"
import { type Database, openDatabase } from "@superstep/toolkit/db/database"
import { createDatabase } from "@superstep/toolkit/db/provision"
import { sql } from "@superstep/toolkit/db/sql"
import { type RunningPostgres, startPostgres } from "@superstep/toolkit/postgres/start-postgres"
import { preparedCluster } from "@superstep/toolkit/testing/prepared-cluster"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { silent } from "@superstep/toolkit/testing/test-cluster"
import { type BareRepository, bareRepository } from "../../sources/testing/bare-repository.js"
import { deploymentOf, type Platform, smallProject, testPlatform } from "./platform.js"

export interface KilledPlatform extends Platform {
  readonly repository: BareRepository
  /** Of the one that serves, called "chat". */
  readonly deploymentId: string
  /** Of its first revision. */
  readonly firstRevisionId: string
  /** Starts Postgres again after it was killed, as the keeper of the embedded one does. */
  readonly startPostgres: () => Promise<RunningPostgres>
  /** Asks for a revision of "chat" with other code. @returns its id */
  change(): Promise<string>
  /** Which revision of "chat" answers callers; null while none does. */
  revisionBehind(): Promise<string | null>
  /** Of the unit that a revision has. */
  unitFolder(revisionId: string): Promise<string>
}

/** @param home  a folder that is made; the control plane does not run when this returns */
export async function killedPlatform(given: { home?: string } = {}): Promise<KilledPlatform> {
  const folder = await preparedCluster()
  const start = () => startPostgres({ folder, log: silent, stopWithParent: true })
  const db = await ownDatabase(await start())
  const platform = await testPlatform({ ...given, db })
  const repository = bareRepository(temporaryFolder())
  repository.commit(smallProject)
  await platform.start()
  const { deploymentId, revisionId } = await platform.deploy(deploymentOf(repository.url))
  await platform.untilEnded(deploymentId, revisionId)
  await platform.kill()

  const change = async () => {
    repository.commit({ ...smallProject, "n.txt": randomBytes(8).toString("hex") })
    const body = { source_revision_config: { repo_ref: "main", langgraph_config_path: "langgraph.json" } }
    return (await platform.call("PATCH", `/v2/deployments/${deploymentId}`, body)).body.latest_revision_id as string
  }
  const revisionBehind = async () => {
    // While the edge is killed nobody answers: no revision is behind it then.
    const reply = await fetch(`${platform.agentsUrl}/d/chat/ok`).catch(() => undefined)
    return reply?.headers.get("x-revision-id") ?? null
  }
  const unitFolder = async (id: string) => {
    const unit = await db.row<{ unit_id: string }>(sql`select unit_id from units where revision_id = ${id}`)
    return join(platform.home, "units", unit?.unit_id ?? "none")
  }
  const dispose = async () => {
    const postgres = await start()
    await platform[Symbol.asyncDispose]()
    await postgres.stop()
  }
  return {
    ...platform,
    repository,
    deploymentId,
    firstRevisionId: revisionId,
    startPostgres: start,
    change,
    revisionBehind,
    unitFolder,
    [Symbol.asyncDispose]: dispose,
  }
}

async function ownDatabase(postgres: RunningPostgres): Promise<Database> {
  const uri = await createDatabase({ adminUri: postgres.superuserUri, name: "superstep" })
  return openDatabase({ uri, log: silent })
}
