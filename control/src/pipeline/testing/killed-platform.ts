/**
 * A platform for tests that kill it: with one deployment that serves, and a Postgres of its own that contains only the
 * platform's data, so that a test sees what is left over.
 */
import assert from "node:assert/strict"
import { randomBytes } from "node:crypto"
import { join } from "node:path"
import { type Database, openDatabase } from "@superstep/toolkit/db/database"
import { createDatabase } from "@superstep/toolkit/db/provision"
import { sql } from "@superstep/toolkit/db/sql"
import { type RunningPostgres, startPostgres } from "@superstep/toolkit/postgres/start-postgres"
import { preparedCluster } from "@superstep/toolkit/testing/prepared-cluster"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { silent } from "@superstep/toolkit/testing/test-cluster"
import { until } from "@superstep/toolkit/testing/until"
import { type BareRepository, bareRepository } from "../../sources/testing/bare-repository.js"
import { untilNothingIsLeft } from "./leftovers.js"
import { deploymentOf, type Platform, smallProject, testPlatform } from "./platform.js"

export interface KilledPlatform extends Platform {
  readonly repository: BareRepository
  /** The id of the deployment that serves, named "chat". */
  readonly deploymentId: string
  /** The id of its first revision. */
  readonly firstRevisionId: string
  /** Starts Postgres again after it was killed, as the supervisor of the embedded one does. */
  readonly startPostgres: () => Promise<RunningPostgres>
  /** Requests a revision of "chat" with other code. @returns  its id */
  change(): Promise<string>
  /** The revision of "chat" that answers callers; null when there is none. */
  revisionBehind(): Promise<string | null>
  /** Waits until the revision serves, asserts that nothing is left over, and kills the control plane. */
  untilServed(revisionId: string): Promise<void>
  /** The folder of a revision's unit. */
  unitFolder(revisionId: string): Promise<string>
}

/** @param home  a folder that is created; the control plane does not run when this returns */
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
    // While the edge is dead nothing answers: then there is no revision.
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
  const untilServed = async (id: string) => {
    const revision = await platform.untilEnded(deploymentId, id)
    assert.equal(revision.status, "DEPLOYED", JSON.stringify(revision))
    await until(async () => (await revisionBehind()) === id, { what: "the new revision answers" })
    await untilNothingIsLeft(platform)
    await platform.kill()
  }
  return {
    ...platform,
    repository,
    deploymentId,
    firstRevisionId: revisionId,
    startPostgres: start,
    change,
    revisionBehind,
    untilServed,
    unitFolder,
    [Symbol.asyncDispose]: dispose,
  }
}

async function ownDatabase(postgres: RunningPostgres): Promise<Database> {
  const uri = await createDatabase({ adminUri: postgres.superuserUri, name: "superstep" })
  return openDatabase({ uri, log: silent })
}
