/** Defines workspaces and API keys. Pure, apart from the randomness of a new key. */
import { createHash, randomBytes } from "node:crypto"

export interface Workspace {
  readonly workspace_id: string
  readonly name: string
  readonly created_at: Date
}

/** The name of a workspace that mirrors one of the control plane of which this installation is a listener. */
export const mirrorName = (workspaceId: string): string => `listener-${workspaceId}`

/** Whether a workspace belongs to this installation itself. */
export const isOwn = ({ workspace_id, name }: Workspace): boolean => name !== mirrorName(workspace_id)

export interface ApiKey {
  readonly api_key_id: string
  /** null: the key belongs to the installation and may name any workspace. */
  readonly workspace_id: string | null
  readonly name: string
  /** The key's first characters, to recognize it. */
  readonly prefix: string
  readonly scopes: readonly Scope[]
  readonly created_at: Date
  readonly expires_at: Date | null
  readonly revoked_at: Date | null
  /** Accurate to the minute; calls of agents do not count. */
  readonly last_used_at: Date | null
}

/** The rights of a key. Every key may read; `admin` may do everything (K5). */
export const scopes = ["read", "run", "deploy", "secrets", "admin"] as const
export type Scope = (typeof scopes)[number]

export const mayDo = (held: readonly Scope[], needed: Scope): boolean =>
  needed === "read" || held.includes(needed) || held.includes("admin") || (needed === "run" && held.includes("deploy"))

/** The caller: every query of the request is confined to its workspace. */
export interface Caller {
  readonly workspaceId: string
  readonly apiKeyId: string
  readonly keyPrefix: string
  readonly scopes: readonly Scope[]
  /** The key belongs to the installation, not to the workspace. */
  readonly isOperator: boolean
}

export interface NewKey {
  /** Shown once; only its hash is stored. */
  readonly clearKey: string
  readonly prefix: string
  readonly sha256: string
}

const shownCharacters = 10

/** 256 random bits cannot be guessed, so a plain hash is enough and a slow one would only cost time. */
export function newKey(): NewKey {
  const clearKey = `ssk_${randomBytes(32).toString("base64url")}`
  return { clearKey, prefix: clearKey.slice(0, shownCharacters), sha256: keyHash(clearKey) }
}

/** The form in which the database and the edge store keys (protocol/edge). */
export const keyHash = (clearKey: string): string => createHash("sha256").update(clearKey).digest("hex")
