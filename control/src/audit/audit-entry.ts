/** Defines an entry of the audit log: who changed what, when, from where. Pure. */

export interface AuditEntry {
  readonly audit_id: string
  /** 1, 2 … within its workspace, in the order of commits. */
  readonly seq: number
  readonly at: Date
  /** `api_key:<id>`. */
  readonly actor: string
  readonly key_prefix: string | null
  readonly ip: string | null
  /** The route: `DELETE /v2/deployments/{deployment_id}`. */
  readonly action: string
  readonly path: string
  readonly resource_type: string | null
  readonly resource_id: string | null
  /** Hashes of the resource's row before and after; null where there was none. */
  readonly before_hash: string | null
  readonly after_hash: string | null
  readonly request_id: string | null
  readonly prev_hash: string | null
  readonly hash: string
}

/** The first part of an entry; its number and its hashes are added at the commit. */
export interface NewAuditEntry {
  readonly workspaceId: string
  readonly actor: string
  readonly keyPrefix: string
  readonly ip: string | undefined
  readonly action: string
  readonly path: string
  readonly resourceType: string | undefined
  readonly resourceId: string | undefined
  readonly beforeHash: string | undefined
  readonly afterHash: string | undefined
  readonly requestId: string | undefined
}

/** A kind of resource, and its table. */
export interface AuditedKind {
  readonly type: string
  readonly table: string
  readonly key: string
}

const kinds: readonly (AuditedKind & { readonly path: RegExp })[] = [
  { path: /^\/v[12]\/(deployments|projects)(\/|$)/, type: "deployment", table: "deployments", key: "deployment_id" },
  { path: /^\/v[12]\/integrations(\/|$)/, type: "integration", table: "integrations", key: "integration_id" },
  { path: /^\/v2\/previews(\/|$)/, type: "preview", table: "previews", key: "preview_id" },
  { path: /^\/v2\/listeners(\/|$)/, type: "listener", table: "listeners", key: "listener_id" },
  { path: /^\/v2\/webhooks(\/|$)/, type: "webhook", table: "webhooks", key: "webhook_id" },
  { path: /^\/v2\/api-keys(\/|$)/, type: "api_key", table: "api_keys", key: "api_key_id" },
  { path: /^\/v2\/console(\/|$)/, type: "console_code", table: "console_codes", key: "sha256" },
  { path: /^\/v2\/quotas$/, type: "quotas", table: "workspace_quotas", key: "workspace_id" },
]

/** @param path  a route's pattern */
export const kindOf = (path: string): AuditedKind | undefined => kinds.find((it) => it.path.test(path))
