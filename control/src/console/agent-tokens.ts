/** Issues tokens with which the console calls one agent, in place of the person's API key. */

import { signAgentToken } from "@superstep/edge/agent-token"
import type { Secret } from "@superstep/toolkit/config/settings"
import type { Db } from "@superstep/toolkit/db/database"
import { Unauthenticated } from "@superstep/toolkit/errors/errors"
import { deriveKey } from "../secrets/derive-key.js"
import type { MasterKey } from "../secrets/seal.js"
import { type Caller, mayAnswer, mayDo } from "../workspaces/workspace.js"
import { memberHash, validKeyHash } from "./queries.js"

export const tokenMinutes = 10

/** Signs and verifies the tokens of a deployment; the edge has it from its table. */
export const agentTokenKey = (key: MasterKey, deploymentId: string): Secret =>
  deriveKey(key, ["agent-token", deploymentId])

export interface IssuedToken {
  readonly token: string
  /** What the token is for; what it may do is what its key or member may do at the moment of a request. */
  readonly scopes: readonly ("read" | "run" | "approve")[]
  readonly expiresAt: Date
}

/** @throws Unauthenticated  the caller's key was revoked meanwhile, or the person is no member any more */
export async function issueAgentToken(
  { db, key, now }: { readonly db: Db; readonly key: MasterKey; readonly now: Date },
  caller: Caller,
  deploymentId: string,
): Promise<IssuedToken> {
  const { actor, workspaceId } = caller
  const isPerson = "personId" in actor
  const row = isPerson ? await memberHash(db, workspaceId, actor.personId) : await validKeyHash(db, actor.apiKeyId)
  if (!row) throw new Unauthenticated(isPerson ? "this person is no member any more" : "Invalid API key")
  const expiresAt = Math.floor(now.getTime() / 1000) + tokenMinutes * 60
  const tokenKey = agentTokenKey(key, deploymentId).reveal()
  const token = {
    keySha256: row.sha256,
    expiresAt,
    ...(isPerson && { person: { person_id: actor.personId, name: actor.name, email: actor.email } }),
  }
  return {
    token: signAgentToken(token, { deploymentId, tokenKey }),
    scopes: scopesAtAgents(caller),
    expiresAt: new Date(expiresAt * 1000),
  }
}

function scopesAtAgents(caller: Caller): IssuedToken["scopes"] {
  if (!mayDo(caller.scopes, "run")) return ["read"]
  return mayAnswer(caller) ? ["read", "run", "approve"] : ["read", "run"]
}
