/** Creates workspaces and keys, and identifies callers. Used by the API, the CLI and the first start. */
import type { Database, Db } from "@superstep/toolkit/db/database"
import { Conflict, Forbidden, InvalidInput, NotFound, Unauthenticated } from "@superstep/toolkit/errors/errors"
import { isUuid } from "@superstep/toolkit/text/is-uuid"
import { v7 as newId } from "uuid"
import { wakeRoutes } from "../revisions/wake-up.js"
import {
  allWorkspaces,
  countKeysInForce,
  insertApiKey,
  insertWorkspace,
  keysOf,
  lockFirstStart,
  lockWorkspace,
  type PresentedKey,
  presentedKey,
  revokeKey,
  workspaceById,
  workspaceByName,
} from "./queries.js"
import { type ApiKey, type Caller, isOwn, keyHash, newKey, type Scope, type Workspace } from "./workspace.js"

/** @throws Conflict  the name is taken */
export async function createWorkspace(db: Db, name: string): Promise<Workspace> {
  const workspace = await insertWorkspace(db, newId(), name)
  if (workspace) return workspace
  const other = await workspaceByName(db, name)
  throw new Conflict(`a workspace named ${name} exists: choose another name`, "name_taken", {
    conflicting_id: other?.workspace_id,
  })
}

export interface CreatedKey {
  readonly key: ApiKey
  /** The key itself. It is not stored, so it is shown only this once. */
  readonly clearKey: string
}

export interface WantedKey {
  /** null for a key of the whole installation, whose callers name a workspace in each request. */
  readonly workspaceId: string | null
  readonly name: string
  /** Default all. */
  readonly scopes?: readonly Scope[] | undefined
  /** Default never. */
  readonly expiresAt?: Date | undefined
  /** Who makes it, as `person:<id>` or `api_key:<id>`. Default: the `superstep` command, or the first start. */
  readonly createdBy?: string | undefined
  /** The platform does not start without it: it needs no room. */
  readonly isPlatforms?: boolean
}

/** Most keys of a workspace in force at a time: the edge's route of each of its deployments has all of them. */
export const mostKeys = 1000

/**
 * Others that create a key of the workspace wait until the transaction ends (K10), so it needs one.
 * @throws NotFound      there is no such workspace
 * @throws InvalidInput  `expiresAt` is in the past
 * @throws Conflict      `quota_exceeded`: the workspace has `mostKeys` in force
 */
export async function createApiKey(tx: Db, wanted: WantedKey): Promise<CreatedKey> {
  const { workspaceId, name, scopes = ["admin"], expiresAt = null, createdBy = null, isPlatforms = false } = wanted
  if (workspaceId !== null) await findWorkspace(tx, workspaceId)
  if (expiresAt !== null && expiresAt.getTime() <= Date.now()) {
    throw new InvalidInput([{ path: ["body", "expires_at"], message: "is in the past", type: "value_error" }])
  }
  if (workspaceId !== null && !isPlatforms) await requireRoomForKey(tx, workspaceId)
  const { clearKey, prefix, sha256 } = newKey()
  const key = await insertApiKey(tx, { id: newId(), workspaceId, name, prefix, sha256, scopes, expiresAt, createdBy })
  if (!key) throw new Error("the new key was not stored")
  await wakeRoutes(tx)
  return { key, clearKey }
}

async function requireRoomForKey(tx: Db, workspaceId: string): Promise<void> {
  await lockWorkspace(tx, workspaceId)
  const used = await countKeysInForce(tx, workspaceId)
  if (used < mostKeys) return
  const facts = { quota: "api_keys", limit: mostKeys, used, added: 1 }
  const has = `a workspace may have ${mostKeys} API keys in force, and this one has ${used}`
  throw new Conflict(`${has}. Revoke those that nobody uses`, "quota_exceeded", facts)
}

/**
 * Revokes a key: requests that start after this get a 401.
 * @param workspaceId  the workspace of the key; without it any key, also one of the installation
 * @throws NotFound    no valid key has this id
 */
export async function revokeApiKey(db: Db, apiKeyId: string, workspaceId: string | null = null): Promise<void> {
  const ended = isUuid(apiKeyId) ? await revokeKey(db, apiKeyId, workspaceId) : 0
  if (ended === 0) throw new NotFound(`API key ID ${apiKeyId} not found.`)
  await wakeRoutes(db)
}

export const listApiKeys = (db: Db, workspaceId: string | null): Promise<ApiKey[]> => keysOf(db, workspaceId)

export const listWorkspaces = (db: Db): Promise<Workspace[]> => allWorkspaces(db)

/** @throws NotFound */
async function findWorkspace(db: Db, workspaceId: string): Promise<Workspace> {
  const workspace = isUuid(workspaceId) ? await workspaceById(db, workspaceId) : undefined
  if (!workspace) throw new NotFound(`Workspace ID ${workspaceId} not found.`)
  return workspace
}

/** Identifies the caller by an API key. @param tenantId  from the header; undefined when there was none @throws  as `callerBy` */
export const findCaller = (db: Db, clearKey: string | undefined, tenantId: string | undefined): Promise<Caller> =>
  callerBy(tenantId, async (named) => (clearKey ? presentedKey(db, keyHash(clearKey), named) : undefined))

/**
 * Identifies the caller (K1–K4). A missing tenant and one of other people give the same answer, so that ids cannot be
 * probed.
 * @param tenantId  from the header; undefined when there was none
 * @param find      the valid key that the request stands for, with the workspace of this id
 * @throws Unauthenticated  there is none: unknown, revoked or expired
 * @throws Forbidden        the key has no rights on that workspace, or the request does not say which one it means
 * @see control-plane §1.1; the CLIs look for "requires workspace specification"
 */
export async function callerBy(
  tenantId: string | undefined,
  find: (tenantId: string | null) => Promise<PresentedKey | undefined>,
): Promise<Caller> {
  const key = await find(tenantId && isUuid(tenantId) ? tenantId.toLowerCase() : null)
  if (!key) throw new Unauthenticated("Invalid API key")
  if (!tenantId && key.workspace_id === null) {
    throw new Forbidden("This key requires workspace specification: send the X-Tenant-Id header", "workspace_required")
  }
  const workspaceId = tenantId ? key.named_workspace_id : key.workspace_id
  if (workspaceId === null || (key.workspace_id !== null && key.workspace_id !== workspaceId)) {
    throw new Forbidden("This key has no rights on the workspace that X-Tenant-Id names")
  }
  const isOperator = key.workspace_id === null
  return { workspaceId, actor: { apiKeyId: key.api_key_id, keyPrefix: key.prefix }, scopes: key.scopes, isOperator }
}

export interface FirstCredentials {
  readonly tenant_id: string
  readonly api_key: string
  readonly org_api_key: string
}

/**
 * Creates the workspace `default` with a key, and a key of the installation, when this installation has no workspace of its own yet.
 * @returns  the credentials to show and keep, or undefined when there was a workspace already
 */
export const ensureDefaultWorkspace = (db: Database): Promise<FirstCredentials | undefined> =>
  db.transaction(async (tx) => {
    await lockFirstStart(tx)
    if ((await allWorkspaces(tx)).some(isOwn)) return undefined
    const { workspace_id: workspaceId } = await createWorkspace(tx, "default")
    const own = await createApiKey(tx, { workspaceId, name: "first start" })
    const org = await createApiKey(tx, { workspaceId: null, name: "first start" })
    return { tenant_id: workspaceId, api_key: own.clearKey, org_api_key: org.clearKey }
  })
