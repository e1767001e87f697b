/** Name, password and address of a deployment's own database, from its row. */
import { Secret } from "@superstep/toolkit/config/settings"
import { changeUri } from "@superstep/toolkit/db/database-uri"
import { type MasterKey, open } from "../secrets/seal.js"
import { contextOf } from "../secrets/sealed-columns.js"
import type { CarriedDeployment } from "./carried-queries.js"

/** @returns  undefined while it has no name yet */
export function databaseOf(
  key: MasterKey,
  deployment: CarriedDeployment,
): { name: string; password: Secret } | undefined {
  const { database_name: name, database_password_sealed: sealed } = deployment
  if (name === null || sealed === null) return undefined
  return { name, password: new Secret(open(key, sealed, contextOf.database(deployment.deployment_id))) }
}

/**
 * The connection string of a deployment's own role.
 * @param platformUri  connection string of the control plane's database, on the same server
 */
export function deploymentDatabaseUri(key: MasterKey, platformUri: string, deployment: CarriedDeployment): Secret {
  const database = databaseOf(key, deployment)
  if (!database) throw new Error(`deployment ${deployment.deployment_id} has no database yet`)
  const { name, password } = database
  return new Secret(changeUri(platformUri, { database: name, user: name, password: password.reveal() }))
}
