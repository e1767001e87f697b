/** Defines a listener's token: what an installation calls with, to carry out the deployments of that listener. Pure, apart from randomness. */
import { randomBytes } from "node:crypto"
import { keyHash } from "../workspaces/workspace.js"

export interface ListenerToken {
  readonly token_id: string
  readonly listener_id: string
  readonly name: string
  /** The token's first characters, to recognize it. */
  readonly prefix: string
  /** The installation that uses it; null: it was never used. */
  readonly home_id: string | null
  readonly created_at: Date
  readonly revoked_at: Date | null
}

export interface NewToken {
  /** Shown once; only its hash is stored. */
  readonly clearToken: string
  readonly prefix: string
  readonly sha256: string
}

const shownCharacters = 10

/** 256 random bits cannot be guessed, so a plain hash is enough. */
export function newToken(): NewToken {
  const clearToken = `ssl_${randomBytes(32).toString("base64url")}`
  return { clearToken, prefix: clearToken.slice(0, shownCharacters), sha256: keyHash(clearToken) }
}

export const tokenHash = keyHash
