/** Defines workspaces and API keys. Pure, apart from the randomness of a new key. */
import { createHash, randomBytes } from "node:crypto"
import type { Actor } from "../audit/audit-entry.js"

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
  /** `person:<id>` or `api_key:<id>`; null for one that the `superstep` command or the first start made, or an earlier release. */
  readonly created_by: string | null
  /** Of that person or key, as it is now. */
  readonly created_by_name: string | null
}

/** The rights of a key. Every key may read; `admin` may do everything (K5). */
export const scopes = ["read", "run", "deploy", "secrets", "admin"] as const
export type Scope = (typeof scopes)[number]

export const mayDo = (held: readonly Scope[], needed: Scope): boolean =>
  needed === "read" || held.includes(needed) || held.includes("admin") || (needed === "run" && held.includes("deploy"))

/** From the fewest rights to the most: each role may also do what the ones before it may. */
export const roles = ["read", "run", "approve", "deploy", "admin"] as const
export type Role = (typeof roles)[number]

/** The rights that a key would need for the same. Who deploys code gives it secrets, and that code can read them: so `deploy` has both. */
export const scopesOfRole: Readonly<Record<Role, readonly Scope[]>> = {
  read: ["read"],
  run: ["read", "run"],
  approve: ["read", "run"],
  deploy: ["read", "run", "deploy", "secrets"],
  admin: ["admin"],
}

/** Roles that answer what agents ask, and change the state of threads. Keys have no such distinction: each that may run agents may. */
export const approvingRoles = ["approve", "deploy", "admin"] as const satisfies readonly Role[]

export const mayApprove = (role: Role): boolean => (approvingRoles as readonly Role[]).includes(role)

/** Whether a caller may do at agents what `approve` allows. */
export const mayAnswer = ({ role, scopes }: Pick<Caller, "role" | "scopes">): boolean =>
  role === undefined ? mayDo(scopes, "run") : mayApprove(role)

/** The caller: every query of the request is confined to its workspace. */
export interface Caller {
  readonly workspaceId: string
  readonly actor: Actor
  /** Of the key, or of the person's role in the workspace. */
  readonly scopes: readonly Scope[]
  /** Of a person; a key has none. */
  readonly role?: Role
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
