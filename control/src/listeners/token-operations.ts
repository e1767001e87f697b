/** Creates and revokes tokens of listeners, and finds the listener that calls. */
import type { Db } from "@superstep/toolkit/db/database"
import { Forbidden, NotFound, Unauthenticated } from "@superstep/toolkit/errors/errors"
import { v7 as newId } from "uuid"
import { findListener, lockListener } from "./operations.js"
import { type ListenerToken, newToken, tokenHash } from "./token.js"
import { insertToken, markRevoked, presentedToken, tokensOf } from "./token-queries.js"

interface ListenerIds {
  readonly workspaceId: string
  readonly listenerId: string
}

/** @throws NotFound  the workspace has no such listener */
export async function createToken(
  tx: Db,
  ids: ListenerIds,
  name: string,
): Promise<{ readonly token: ListenerToken; readonly clearToken: string }> {
  await lockListener(tx, ids)
  const { clearToken, ...stored } = newToken()
  const token = await insertToken(tx, { id: newId(), listenerId: ids.listenerId, name, ...stored })
  if (!token) throw new Error("the new token was not stored")
  return { token, clearToken }
}

/** Also those that are revoked, oldest first. @throws NotFound */
export async function listTokens(db: Db, ids: ListenerIds): Promise<ListenerToken[]> {
  await findListener(db, ids)
  const tokens = await tokensOf(db, ids.listenerId)
  // The listener may have been deleted after it was found.
  if (tokens.length === 0) await findListener(db, ids)
  return tokens
}

/** Later calls with it are refused. @throws NotFound  the listener has no such token, or it is revoked already */
export async function revokeToken(tx: Db, ids: ListenerIds & { readonly tokenId: string }): Promise<void> {
  await findListener(tx, ids)
  if ((await markRevoked(tx, ids.listenerId, ids.tokenId)) === 0) {
    throw new NotFound(`Token ID ${ids.tokenId} not found.`)
  }
}

/** The listener that calls: everything it asks for is confined to its deployments. */
export interface CallingListener {
  readonly listenerId: string
  readonly workspaceId: string
  /** Its installation. */
  readonly homeId: string
}

/**
 * Identifies a listener by its token, and notes that it called (L3, L4).
 * @throws Unauthenticated  the token is unknown or revoked
 * @throws Forbidden        another installation uses it
 */
export async function findCallingListener(
  db: Db,
  clearToken: string,
  caller: { readonly homeId: string; readonly version: string },
): Promise<CallingListener> {
  const found = await presentedToken(db, tokenHash(clearToken), caller)
  if (!found) throw new Unauthenticated("Invalid listener token: create another one for this listener")
  if (found.home_id !== caller.homeId) {
    const words = "another installation uses this token: create one for this installation, and revoke the former one"
    throw new Forbidden(words, "token_in_use")
  }
  return { listenerId: found.listener_id, workspaceId: found.workspace_id, homeId: caller.homeId }
}
