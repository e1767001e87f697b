/** queue: the deployment's own database and role, made once and kept until the deployment is deleted. */
import { randomBytes } from "node:crypto"
import { Secret } from "@superstep/toolkit/config/settings"
import { changeUri } from "@superstep/toolkit/db/database-uri"
import { createDatabase, dropDatabase } from "@superstep/toolkit/db/provision"
import { type MasterKey, open, seal } from "../secrets/seal.js"
import { contextOf } from "../secrets/sealed-columns.js"
import type { PipelineContext } from "./context.js"
import { type CarriedDeployment, deploymentById, markReady, nameDatabase } from "./queries.js"
import type { RunStage } from "./stage.js"

export const runQueue: RunStage = async ({ context, deployment }) => {
  context.crashPoint("queue:begin")
  if (deployment.status === "AWAITING_DATABASE") await provision(context, deployment)
  context.crashPoint("queue:after-provision")
  return { kind: "next", status: "AWAITING_BUILD", stage: "fetch" }
}

/** The password is stored before the role gets it: a process that dies in between leaves nothing that cannot be opened. */
async function provision({ db, key, crashPoint }: PipelineContext, deployment: CarriedDeployment): Promise<void> {
  const id = deployment.deployment_id
  const password = randomBytes(24).toString("base64url")
  await nameDatabase(db, id, `superstep_${id.replaceAll("-", "")}`, seal(key, password, contextOf.database(id)))
  crashPoint("queue:after-name")
  const named = await deploymentById(db, id)
  const database = named && databaseOf(key, named)
  if (!database) return
  // None until a unit of it is started, which gets its share then (connections.ts).
  const owner = { password: database.password.reveal(), connectionLimit: 0 }
  await createDatabase({ adminUri: db.uri, name: database.name, owner })
  crashPoint("queue:after-database")
  if ((await markReady(db, id)) > 0) return
  // A deletion was asked for meanwhile, and may have looked for the database before it was there.
  await dropDatabase({ adminUri: db.uri, name: database.name })
}

function databaseOf(key: MasterKey, deployment: CarriedDeployment): { name: string; password: Secret } | undefined {
  const { database_name: name, database_password_sealed: sealed } = deployment
  if (name === null || sealed === null) return undefined
  return { name, password: new Secret(open(key, sealed, contextOf.database(deployment.deployment_id))) }
}

/**
 * The connection string of a deployment's own role.
 * @param platformUri  of the control plane's database, on the same server
 */
export function deploymentDatabaseUri(key: MasterKey, platformUri: string, deployment: CarriedDeployment): Secret {
  const database = databaseOf(key, deployment)
  if (!database) throw new Error(`deployment ${deployment.deployment_id} has no database yet`)
  const { name, password } = database
  return new Secret(changeUri(platformUri, { database: name, user: name, password: password.reveal() }))
}
