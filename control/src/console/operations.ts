/** Signs people in to the console and out of it, and identifies the caller of a session. Rules C1–C6: README.md. */
import type { Database, Db } from "@superstep/toolkit/db/database"
import { Forbidden, NotFound, Unauthenticated } from "@superstep/toolkit/errors/errors"
import type { Actor } from "../audit/audit-entry.js"
import { insertEntry } from "../audit/queries.js"
import { callerBy } from "../workspaces/operations.js"
import {
  type Caller,
  keyHash,
  mayApprove,
  mayDo,
  type Role,
  type Scope,
  scopesOfRole,
  type Workspace,
} from "../workspaces/workspace.js"
import {
  deleteSession,
  type Holder,
  type HolderRow,
  insertCode,
  insertSession,
  keyBySha256,
  type ListedSession,
  lockHolder,
  type PresentedMember,
  presentedMembers,
  presentedSession,
  recordUse,
  sessionBySha256,
  sessionsOf,
  takeCode,
  workspacesOfKey,
} from "./queries.js"
import { boundHash, newSecret, secretHash } from "./session.js"

/** A workspace that requests with a session may name, and what they may do there. */
export interface SessionWorkspace extends Pick<Workspace, "workspace_id" | "name"> {
  /** null: the session stands for a key. */
  readonly role: Role | null
  readonly scopes: readonly Scope[]
  /** May answer what agents ask, and change the state of threads. */
  readonly mayApprove: boolean
}

export interface Session {
  readonly sessionId: string
  readonly actor: Actor
  readonly scopes: readonly Scope[]
  readonly isOperator: boolean
  readonly workspaces: readonly SessionWorkspace[]
  readonly expiresAt: Date
}

/** Who signs in, for the audit log. */
export interface SignInRequest {
  readonly path: string
  readonly ip: string | undefined
  readonly userAgent: string | undefined
  readonly requestId: string | undefined
  /** From `X-Tenant-Id`. */
  readonly tenantId: string | undefined
}

export interface CreatedCode {
  readonly code: string
  readonly expiresAt: Date
}

/** A one-time code. @param workspaceId  whose audit log records the sign-in */
export async function createCode(db: Db, holder: Holder, workspaceId: string): Promise<CreatedCode> {
  const { clear, sha256 } = newSecret()
  const row = await insertCode(db, { sha256, holder, workspaceId })
  if (!row) throw new Error("the new code was not stored")
  return { code: clear, expiresAt: row.expires_at }
}

export interface BoundCode extends CreatedCode {
  /** For the cookie of the browser, in which alone the code works. */
  readonly browser: string
}

/**
 * A one-time code of a person who has returned from the provider.
 * @param workspaceId  whose audit log records the sign-in; null: that of the person's first workspace
 */
export async function createBoundCode(db: Db, personId: string, workspaceId: string | null): Promise<BoundCode> {
  const [code, browser] = [newSecret().clear, newSecret().clear]
  const row = await insertCode(db, { sha256: boundHash(code, browser), holder: { personId }, workspaceId })
  if (!row) throw new Error("the new code was not stored")
  return { code, browser, expiresAt: row.expires_at }
}

export const holderOf = ({ actor }: Pick<Caller, "actor">): Holder =>
  "personId" in actor ? { personId: actor.personId } : { apiKeyId: actor.apiKeyId }

/** What a person shows to sign in. */
export type Proof = { readonly code: string; readonly browser?: string | undefined } | { readonly apiKey: string }

interface SignIn {
  readonly proof: Proof
  /** Ids of the browser's sessions. It forgets them, so nobody else would end them. */
  readonly formerIds: readonly string[]
  readonly request: SignInRequest
}

export interface OpenedSession {
  /** For the cookie. */
  readonly id: string
  readonly session: Session
}

/**
 * Creates a session with an id of its own, and ends the browser's former ones, both or neither (C2). A code is used up, also when its key
 * has been revoked since.
 * @throws Unauthenticated  `code_invalid`, or the API key is not valid
 */
export async function openSession(db: Database, { proof, formerIds, request }: SignIn): Promise<OpenedSession> {
  const opened = await db.transaction(async (tx) => {
    const proved = await proofHolder(tx, proof)
    if (!proved) return undefined
    const { holder, workspaceId: tenantId = request.tenantId } = proved
    return openSessionOf(tx, holder, { formerIds, request: { ...request, tenantId } })
  })
  if (!opened) throw refusalOf(proof)
  return opened
}

/**
 * As `openSession`, for somebody who has proved otherwise who they are, in the same transaction.
 * @returns  undefined when the key is not valid, or the person belongs to no workspace
 */
export async function openSessionOf(
  tx: Db,
  holder: Holder,
  { formerIds, request }: Omit<SignIn, "proof">,
): Promise<OpenedSession | undefined> {
  const { clear: id, sha256 } = newSecret()
  await lockHolder(tx, holder)
  if (!(await insertSession(tx, { sha256, holder, ...request }))) return undefined
  const session = await findSession(tx, id)
  await record(tx, session, { ...request, action: "POST /v2/console/sessions" })
  await endWithin(tx, formerIds, request)
  return { id, session }
}

const refusalOf = (proof: Proof): Unauthenticated =>
  "code" in proof
    ? new Unauthenticated("this code is wrong, used or expired: superstep console prints a new one", "code_invalid")
    : new Unauthenticated("Invalid API key")

async function proofHolder(
  tx: Db,
  proof: Proof,
): Promise<{ readonly holder: Holder; readonly workspaceId?: string | undefined } | undefined> {
  if ("apiKey" in proof) {
    const key = await keyBySha256(tx, keyHash(proof.apiKey))
    return key && { holder: { apiKeyId: key.api_key_id } }
  }
  const plain = await takeCode(tx, secretHash(proof.code))
  const code =
    plain ?? (proof.browser === undefined ? undefined : await takeCode(tx, boundHash(proof.code, proof.browser)))
  const holder = code && storedHolder(code)
  return holder && { holder, workspaceId: code.workspace_id ?? undefined }
}

function storedHolder({ api_key_id: apiKeyId, person_id: personId }: HolderRow): Holder | undefined {
  if (apiKeyId !== null) return { apiKeyId }
  return personId === null ? undefined : { personId }
}

/** @throws Unauthenticated  it has ended, or never was */
export async function findSession(db: Db, id: string): Promise<Session> {
  const session = await sessionOf(db, secretHash(id))
  if (!session) throw sessionEnded()
  return session
}

async function sessionOf(db: Db, sha256: string): Promise<Session | undefined> {
  const row = await sessionBySha256(db, sha256)
  if (!row) return undefined
  const { session_id: sessionId, expires_at: expiresAt, api_key_id: apiKeyId, prefix, scopes } = row
  if (apiKeyId === null || prefix === null || scopes === null) {
    const members = await presentedMembers(db, sha256)
    const [first] = members
    if (!first) return undefined
    const workspaces = members.map(memberWorkspace)
    const held = scopesOfRole[first.role]
    return { sessionId, actor: personActor(first), scopes: held, isOperator: false, workspaces, expiresAt }
  }
  const named = await workspacesOfKey(db, row.workspace_id)
  return {
    sessionId,
    actor: { apiKeyId, keyPrefix: prefix },
    scopes,
    isOperator: row.workspace_id === null,
    workspaces: named.map((it) => ({ ...it, role: null, scopes, mayApprove: mayDo(scopes, "run") })),
    expiresAt,
  }
}

const personActor = ({ person_id: personId, name, email }: PresentedMember): Actor => ({ personId, name, email })

const memberWorkspace = ({ workspace_id, workspace_name: name, role }: PresentedMember): SessionWorkspace => ({
  workspace_id,
  name,
  role,
  scopes: scopesOfRole[role],
  mayApprove: mayApprove(role),
})

/** Ends sessions at once. @returns  those that had not ended before */
export const endSessions = (db: Database, ids: readonly string[], request: SignInRequest): Promise<Session[]> =>
  db.transaction((tx) => endWithin(tx, ids, request))

async function endWithin(tx: Db, ids: readonly string[], request: SignInRequest): Promise<Session[]> {
  const ended: Session[] = []
  // In one order, so that two requests with the same cookies do not wait for each other.
  for (const id of [...new Set(ids)].sort()) {
    const session = await sessionOf(tx, secretHash(id))
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
  { actor, isOperator, workspaces }: Session,
  { action, path, ip, requestId, tenantId }: SignInRequest & { readonly action: string },
): Promise<void> {
  const named = workspaces.find(({ workspace_id }) => workspace_id === tenantId)
  const workspace = named ?? (isOperator ? undefined : workspaces[0])
  if (!workspace) return
  await insertEntry(tx, {
    workspaceId: workspace.workspace_id,
    actor,
    ip,
    action,
    path,
    resourceType: "console_session",
    requestId,
  })
}

/** The caller whose key or person the session stands for (C1). @throws Unauthenticated | Forbidden */
export async function findSessionCaller(db: Db, id: string, tenantId: string | undefined): Promise<Caller> {
  const members = await presentedMembers(db, secretHash(id))
  if (members.length > 0) return memberCaller(members, tenantId?.toLowerCase())
  return callerBy(tenantId, async (named) => {
    const key = await presentedSession(db, secretHash(id), named)
    if (!key) throw sessionEnded()
    return key
  })
}

/** K2 and K3 for a person: who belongs to one workspace need not name it. */
function memberCaller(members: readonly PresentedMember[], tenantId: string | undefined): Caller {
  if (tenantId === undefined && members.length > 1) {
    throw new Forbidden(
      "This account requires workspace specification: send the X-Tenant-Id header",
      "workspace_required",
    )
  }
  const member = tenantId === undefined ? members[0] : members.find(({ workspace_id }) => workspace_id === tenantId)
  if (!member) throw new Forbidden("This account has no rights on the workspace that X-Tenant-Id names")
  const { workspace_id: workspaceId, role } = member
  return { workspaceId, actor: personActor(member), scopes: scopesOfRole[role], role, isOperator: false }
}

/** Without it a session ends 12 hours after its last use (C1). */
export const recordSessionUse = (db: Db, id: string): Promise<number> => recordUse(db, secretHash(id))

/** The caller's own sessions; those of the whole workspace for who may end them. */
export const listSessions = (db: Db, caller: Caller): Promise<ListedSession[]> =>
  sessionsOf(db, mayDo(caller.scopes, "admin") ? { workspaceId: caller.workspaceId } : holderOf(caller))

/** Ends one of the sessions that `listSessions` has. A session of a person ends for all their workspaces. @throws NotFound */
export async function endListedSession(tx: Db, caller: Caller, sessionId: string): Promise<void> {
  const [own, all] = [await sessionsOf(tx, holderOf(caller)), await listSessions(tx, caller)]
  const session = [...own, ...all].find(({ session_id }) => session_id === sessionId)
  if (!session || (await deleteSession(tx, session.sha256)) === 0)
    throw new NotFound(`Session ID ${sessionId} not found.`)
}

const sessionEnded = () =>
  new Unauthenticated(
    "this session has ended: sign in again, or with a code (superstep console prints one) or an API key",
  )
