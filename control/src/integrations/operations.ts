/** Stores credentials for git hosts, and opens them for fetches. */

import { Secret } from "@superstep/toolkit/config/settings"
import { type Db, isSqlState, sqlState } from "@superstep/toolkit/db/database"
import { Conflict, NotFound } from "@superstep/toolkit/errors/errors"
import { v7 as newId } from "uuid"
import { type MasterKey, open, seal } from "../secrets/seal.js"
import { contextOf } from "../secrets/sealed-columns.js"
import type { GitCredentials } from "../sources/git-location.js"
import { defaultUsername, type Integration } from "./integration.js"
import {
  countIntegrations,
  holdIntegration,
  insertIntegration,
  integrationById,
  integrationByName,
  integrationsOf,
  removeIntegration,
  sealedCredentials,
} from "./queries.js"

export interface NewIntegration {
  readonly name: string
  readonly host: string
  readonly credentials:
    | { readonly auth: "token"; readonly username: string | null; readonly token: string }
    | {
        readonly auth: "ssh_key"
        readonly privateKey: string
        readonly publicKey: string
        readonly knownHosts: string | null
      }
}

/** @throws Conflict  the name is taken */
export async function createIntegration(
  db: Db,
  key: MasterKey,
  workspaceId: string,
  { name, host, credentials }: NewIntegration,
): Promise<Integration> {
  const id = newId()
  const { auth } = credentials
  const isKey = auth === "ssh_key"
  const integration = await insertIntegration(db, {
    id,
    workspaceId,
    name,
    host,
    auth,
    username: isKey ? null : credentials.username,
    sealed: seal(key, isKey ? credentials.privateKey : credentials.token, contextOf.integration(workspaceId, id)),
    sshPublicKey: isKey ? credentials.publicKey : null,
    knownHosts: isKey ? credentials.knownHosts : null,
  })
  if (integration) return integration
  const other = await integrationByName(db, workspaceId, name)
  throw new Conflict(`An integration named ${name} exists: choose another name`, "name_taken", {
    conflicting_id: other?.integration_id,
  })
}

const notFound = (integrationId: string) => new NotFound(`Integration ID ${integrationId} not found.`)

/** @throws NotFound */
export async function findIntegration(db: Db, workspaceId: string, integrationId: string): Promise<Integration> {
  const integration = await integrationById(db, workspaceId, integrationId)
  if (!integration) throw notFound(integrationId)
  return integration
}

/** Inside a transaction it also prevents its deletion until the transaction has ended. */
export const integrationExists = async (tx: Db, workspaceId: string, integrationId: string): Promise<boolean> =>
  (await holdIntegration(tx, workspaceId, integrationId)) > 0

export const allIntegrations = (db: Db, workspaceId: string): Promise<Integration[]> =>
  integrationsOf(db, workspaceId, { limit: null, offset: 0 })

export async function listIntegrations(
  db: Db,
  workspaceId: string,
  page: { limit: number; offset: number },
): Promise<{ rows: Integration[]; total: number }> {
  const [rows, total] = await Promise.all([integrationsOf(db, workspaceId, page), countIntegrations(db, workspaceId)])
  return { rows, total }
}

/**
 * @throws NotFound
 * @throws Conflict  a deployment uses it, possibly one that is being deleted
 */
export async function deleteIntegration(db: Db, workspaceId: string, integrationId: string): Promise<void> {
  try {
    if ((await removeIntegration(db, workspaceId, integrationId)) === 0) throw notFound(integrationId)
  } catch (error) {
    if (!isSqlState(error, sqlState.foreignKeyViolation)) throw error
    throw new Conflict(`Integration ID ${integrationId} is in use: delete its deployments first`, "in_use")
  }
}

/**
 * The credentials for the integration's host. No other host may see them.
 * @throws NotFound    the integration is gone
 * @throws CannotOpen  the token was encrypted with another master key
 */
export async function credentialsOf(
  db: Db,
  key: MasterKey,
  { workspaceId, integrationId }: { workspaceId: string; integrationId: string },
): Promise<GitCredentials> {
  const row = await sealedCredentials(db, workspaceId, integrationId)
  if (!row) throw notFound(integrationId)
  const { host } = row
  const secret = new Secret(open(key, row.token_sealed, contextOf.integration(workspaceId, integrationId)))
  return row.auth === "ssh_key"
    ? { kind: "ssh_key", host, privateKey: secret, knownHosts: row.known_hosts }
    : { kind: "token", host, username: row.username ?? defaultUsername, token: secret }
}
