/** Signs people in to the console and out of it, and identifies the caller of a session. Rules C1–C6: README.md. */
import type { Database, Db } from "@superstep/toolkit/db/database"
import { Unauthenticated } from "@superstep/toolkit/errors/errors"
import { insertEntry } from "../audit/queries.js"
import { callerBy } from "../workspaces/operations.js"
import { type Caller, keyHash, type Scope, type Workspace } from "../workspaces/workspace.js"
import {
  deleteSession,
  insertCode,
  insertSession,
  keyBySha256,
  presentedSession,
  recordUse,
  sessionBySha256,
  takeCode,
  workspacesOfKey,
} from "./queries.js"
import { newSecret, secretHash } from "./session.js"

export interface Session {
  readonly apiKeyId: string
  readonly keyPrefix: string
  readonly scopes: readonly Scope[]
  readonly isOperator: boolean
  /** Those that requests may name. */
  readonly workspaces: readonly Pick<Workspace, "workspace_id" | "name">[]
  readonly expiresAt: Date
}

/** Who signs in, for the audit log. */
export interface SignInRequest {
  readonly path: string
  readonly ip: string | undefined
  readonly requestId: string | undefined
  /** From `X-Tenant-Id`. */
  readonly tenantId: string | undefined
}

/** A one-time code for the caller's own key. */
export async function createCode(db: Db, caller: Caller): Promise<{ readonly code: string; readonly expiresAt: Date }> {
  const { clear, sha256 } = newSecret()
  const row = await insertCode(db, { sha256, apiKeyId: caller.apiKeyId, workspaceId: caller.workspaceId })
  if (!row) throw new Error("the new code was not stored")
  return { code: clear, expiresAt: row.expires_at }
}

/** What a person shows to sign in. */
export type Proof = { readonly code: string } | { readonly apiKey: string }

interface SignIn {
  readonly proof: Proof
  /** Ids of the browser's sessions. It forgets them, so nobody else would end them. */
  readonly formerIds: readonly string[]
  readonly request: SignInRequest
}

/**
 * Creates a session with an id of its own, and ends the browser's former ones, both or neither (C2). A code is used up, also when its key
 * has been revoked since.
 * @throws Unauthenticated  `code_invalid`, or the API key is not valid
 */
export async function openSession(
  db: Database,
  { proof, formerIds, request }: SignIn,
): Promise<{ readonly id: string; readonly session: Session }> {
  const { clear: id, sha256 } = newSecret()
  const opened = await db.transaction(async (tx) => {
    const proved = await keyOf(tx, proof)
    if (!proved || !(await insertSession(tx, sha256, proved.apiKeyId))) return undefined
    const session = await findSession(tx, id)
    const tenantId = proved.workspaceId ?? request.tenantId
    await record(tx, session, { ...request, tenantId, action: "POST /v2/console/sessions" })
    await endWithin(tx, formerIds, request)
    return session
  })
  if (!opened) throw refusalOf(proof)
  return { id, session: opened }
}

const refusalOf = (proof: Proof): Unauthenticated =>
  "code" in proof
    ? new Unauthenticated("this code is wrong, used or expired: superstep console prints a new one", "code_invalid")
    : new Unauthenticated("Invalid API key")

async function keyOf(tx: Db, proof: Proof): Promise<{ apiKeyId: string; workspaceId?: string } | undefined> {
  if ("apiKey" in proof) {
    const key = await keyBySha256(tx, keyHash(proof.apiKey))
    return key && { apiKeyId: key.api_key_id }
  }
  const code = await takeCode(tx, secretHash(proof.code))
  return code && { apiKeyId: code.api_key_id, workspaceId: code.workspace_id }
}

/** @throws Unauthenticated  it has ended, or never was */
export async function findSession(db: Db, id: string): Promise<Session> {
  const session = await sessionOf(db, id)
  if (!session) throw sessionEnded()
  return session
}

async function sessionOf(db: Db, id: string): Promise<Session | undefined> {
  const row = await sessionBySha256(db, secretHash(id))
  return (
    row && {
      apiKeyId: row.api_key_id,
      keyPrefix: row.prefix,
      scopes: row.scopes,
      isOperator: row.workspace_id === null,
      workspaces: await workspacesOfKey(db, row.workspace_id),
      expiresAt: row.expires_at,
    }
  )
}

/** Ends sessions at once. @returns  those that had not ended before */
export const endSessions = (db: Database, ids: readonly string[], request: SignInRequest): Promise<Session[]> =>
  db.transaction((tx) => endWithin(tx, ids, request))

async function endWithin(tx: Db, ids: readonly string[], request: SignInRequest): Promise<Session[]> {
  const ended: Session[] = []
  // In one order, so that two requests with the same cookies do not wait for each other.
  for (const id of [...new Set(ids)].sort()) {
    const session = await sessionOf(tx, id)
    // Another request may have ended it since.
    if (!session || (await deleteSession(tx, secretHash(id))) === 0) continue
    await record(tx, session, { ...request, action: "DELETE /v2/console/session" })
    ended.push(session)
  }
  return ended
}

/**
 * Adds an entry to the audit log of the session's workspace. A session of an installation's key has none of its own: then that of
 * the code, or the one that the request names; without either only the process's log has it.
 */
async function record(
  tx: Db,
  { apiKeyId, keyPrefix, isOperator, workspaces }: Session,
  { action, path, ip, requestId, tenantId }: SignInRequest & { readonly action: string },
): Promise<void> {
  const workspace = isOperator ? workspaces.find(({ workspace_id }) => workspace_id === tenantId) : workspaces[0]
  if (!workspace) return
  await insertEntry(tx, {
    workspaceId: workspace.workspace_id,
    actor: `api_key:${apiKeyId}`,
    keyPrefix,
    ip,
    action,
    path,
    resourceType: "console_session",
    resourceId: undefined,
    beforeHash: undefined,
    afterHash: undefined,
    requestId,
  })
}

/** The caller whose key the session stands for (C1). @throws Unauthenticated | Forbidden */
export const findSessionCaller = (db: Db, id: string, tenantId: string | undefined): Promise<Caller> =>
  callerBy(tenantId, async (named) => {
    const key = await presentedSession(db, secretHash(id), named)
    if (!key) throw sessionEnded()
    return key
  })

/** Without it a session ends 12 hours after its last use (C1). */
export const recordSessionUse = (db: Db, id: string): Promise<number> => recordUse(db, secretHash(id))

const sessionEnded = () =>
  new Unauthenticated("this session has ended: sign in with a code (superstep console prints one) or an API key")
