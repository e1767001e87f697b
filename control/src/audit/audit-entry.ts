/** Defines an entry of the audit log: who changed what, when, from where. Pure. */

/** Who acts: a machine with a key, or a person with a session of their own. */
export type Actor = KeyActor | PersonActor

export interface KeyActor {
  readonly apiKeyId: string
  /** The key's first characters. */
  readonly keyPrefix: string
}

export interface PersonActor {
  readonly personId: string
  readonly name: string
  readonly email: string
}

/** As revisions and the audit log name an actor. */
export const actorText = (actor: Actor): string =>
  "personId" in actor ? `person:${actor.personId}` : `api_key:${actor.apiKeyId}`

export interface AuditEntry {
  readonly audit_id: string
  /** 1, 2 … within its workspace, in the order of commits. */
  readonly seq: number
  readonly at: Date
  /** `api_key:<id>` or `person:<id>`. */
  readonly actor: string
  /** Of a person, at that time. */
  readonly actor_name: string | null
  readonly key_prefix: string | null
  readonly ip: string | null
  /** The route: `DELETE /v2/deployments/{deployment_id}`. */
  readonly action: string
  readonly path: string
  readonly resource_type: string | null
  readonly resource_id: string | null
  /** At that time. */
  readonly resource_name: string | null
  /** Names of the fields that changed, such as `source_config.build_on_push`; null where no row was compared. */
  readonly changed: readonly string[] | null
  /** Hashes of the resource's row before and after; null where there was none. */
  readonly before_hash: string | null
  readonly after_hash: string | null
  readonly request_id: string | null
  readonly prev_hash: string | null
  readonly hash: string
}

/** The first part of an entry; its number and its hashes are added at the commit. */
export interface NewAuditEntry {
  /** For one that is recorded once however often it is reported; default a new one. */
  readonly id?: string | undefined
  /** When it happened; default now. */
  readonly at?: Date | undefined
  readonly workspaceId: string
  readonly actor: Actor
  readonly ip: string | undefined
  readonly action: string
  readonly path: string
  readonly resourceType?: string | undefined
  readonly resourceId?: string | undefined
  readonly resourceName?: string | undefined
  readonly changed?: readonly string[] | undefined
  readonly beforeHash?: string | undefined
  readonly afterHash?: string | undefined
  readonly requestId: string | undefined
}

/** A kind of resource, and its table; a kind without one has no row to compare. */
export interface AuditedKind {
  readonly type: string
  readonly key: string
  readonly table?: string
  /** The column that people know it by. */
  readonly name?: string
  /**
   * What a write locks before its row is read, so that the entry does not name what another actor changes meanwhile. It must be what the write
   * locks first anyway: another order could deadlock. Absent: nothing, as for rows that never change, and for previews, whose parent is locked
   * before them.
   */
  readonly lock?: "row" | "workspace"
}

const kinds: readonly (AuditedKind & { readonly path: RegExp })[] = [
  {
    path: /^\/v[12]\/(deployments|projects)(\/|$)/,
    type: "deployment",
    table: "deployments",
    key: "deployment_id",
    name: "name",
    lock: "row",
  },
  {
    path: /^\/v[12]\/integrations(\/|$)/,
    type: "integration",
    table: "integrations",
    key: "integration_id",
    name: "name",
  },
  { path: /^\/v2\/previews(\/|$)/, type: "preview", table: "previews", key: "preview_id", name: "title" },
  {
    path: /^\/v2\/listeners(\/|$)/,
    type: "listener",
    table: "listeners",
    key: "listener_id",
    name: "compute_id",
    lock: "row",
  },
  { path: /^\/v2\/webhooks(\/|$)/, type: "webhook", table: "webhooks", key: "webhook_id", name: "url" },
  { path: /^\/v2\/api-keys(\/|$)/, type: "api_key", table: "api_keys", key: "api_key_id", name: "name" },
  { path: /^\/v2\/console\/sessions(\/|$)/, type: "console_session", key: "session_id" },
  { path: /^\/v2\/console(\/|$)/, type: "console_code", key: "code" },
  { path: /^\/v2\/members(\/|$)/, type: "member", table: "members", key: "person_id", lock: "workspace" },
  {
    path: /^\/v2\/invitations(\/|$)/,
    type: "invitation",
    table: "invitations",
    key: "invitation_id",
    name: "email",
  },
  { path: /^\/v2\/quotas$/, type: "quotas", table: "workspace_quotas", key: "workspace_id", lock: "row" },
]

/** @param path  a route's pattern */
export const kindOf = (path: string): AuditedKind | undefined => kinds.find((it) => it.path.test(path))

/** A row as `to_jsonb` renders it. */
export type RowFields = Readonly<Record<string, unknown>>

// It changes with every write, so it says nothing.
const ofEveryWrite = "updated_at"

/** The names of the fields whose values differ, those of objects as `source_config.build_on_push`, in order; no values. */
export function changedFields(before: RowFields, after: RowFields): string[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter((name) => name !== ofEveryWrite)
  return names.flatMap((name) => differing(name, before[name], after[name])).sort()
}

function differing(name: string, before: unknown, after: unknown): string[] {
  if (JSON.stringify(before) === JSON.stringify(after)) return []
  if (!isFields(before) || !isFields(after)) return [name]
  return changedFields(before, after).map((inner) => `${name}.${inner}`)
}

const isFields = (value: unknown): value is RowFields =>
  typeof value === "object" && value !== null && !Array.isArray(value)
