/** Issues tokens with which the console calls one agent, in place of the person's API key. */

import { signAgentToken } from "@superstep/edge/agent-token"
import type { Secret } from "@superstep/toolkit/config/settings"
import type { Db } from "@superstep/toolkit/db/database"
import { Unauthenticated } from "@superstep/toolkit/errors/errors"
import { deriveKey } from "../secrets/derive-key.js"
import type { MasterKey } from "../secrets/seal.js"
import { type Caller, mayDo } from "../workspaces/workspace.js"
import { validKeyHash } from "./queries.js"

export const tokenMinutes = 10

/** Signs and verifies the tokens of a deployment; the edge has it from its table. */
export const agentTokenKey = (key: MasterKey, deploymentId: string): Secret =>
  deriveKey(key, ["agent-token", deploymentId])

export interface IssuedToken {
  readonly token: string
  /** What the token is for; what it may do is what its key may do at the moment of a request. */
  readonly scopes: readonly ("read" | "run")[]
  readonly expiresAt: Date
}

/** @throws Unauthenticated  the caller's key was revoked meanwhile */
export async function issueAgentToken(
  { db, key, now }: { readonly db: Db; readonly key: MasterKey; readonly now: Date },
  { apiKeyId, scopes }: Pick<Caller, "apiKeyId" | "scopes">,
  deploymentId: string,
): Promise<IssuedToken> {
  const row = await validKeyHash(db, apiKeyId)
  if (!row) throw new Unauthenticated("Invalid API key")
  const expiresAt = Math.floor(now.getTime() / 1000) + tokenMinutes * 60
  const tokenKey = agentTokenKey(key, deploymentId).reveal()
  return {
    token: signAgentToken({ keySha256: row.sha256, expiresAt }, { deploymentId, tokenKey }),
    scopes: mayDo(scopes, "run") ? ["read", "run"] : ["read"],
    expiresAt: new Date(expiresAt * 1000),
  }
}
