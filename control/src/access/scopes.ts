/** The scope that each route needs: one table, from the specific to the general. The first matching line counts. Pure. */
import type { Scope } from "../workspaces/workspace.js"

interface ScopeRule {
  readonly isRead?: boolean
  /** Matches the documented path of a route, such as `/v2/deployments/{deployment_id}`. */
  readonly path: RegExp
  readonly scope: Scope
}

const rules: readonly ScopeRule[] = [
  // Keys, the audit log and webhooks: reading these needs rights too.
  { path: /^\/v2\/(api-keys|audit-log|webhooks|invitations)(\/|$)/, scope: "admin" },
  // Code of a repository that may be private: keys for those who only watch do not show it.
  { isRead: true, path: /\/code-changes$/, scope: "deploy" },
  { isRead: true, path: /^/, scope: "read" },
  // The token has no more rights than the key.
  { path: /^\/v2\/deployments\/\{deployment_id\}\/agent-token$/, scope: "read" },
  // One's own session; the operation refuses those of others to who is no admin.
  { path: /^\/v2\/console\/sessions\/\{session_id\}$/, scope: "read" },
  // Both CLIs read logs with a POST.
  { path: /^\/v1\/projects\/.*_logs$/, scope: "read" },
  { path: /\/secrets(\/|$)/, scope: "secrets" },
  // Credentials for other systems, and the listeners that may take over work.
  { path: /^\/v[12]\/integrations(\/|$)/, scope: "admin" },
  { path: /^\/v2\/console\/codes$/, scope: "admin" },
  { path: /^\/v2\/listeners(\/|$)/, scope: "admin" },
  { path: /^\/v2\/quotas$/, scope: "admin" },
  { path: /^\/v2\/members(\/|$)/, scope: "admin" },
  { path: /^/, scope: "deploy" },
]

/** @param path  the route's own pattern, without `/api-host` */
export function scopeOf(method: string, path: string): Scope {
  const isRead = method === "GET" || method === "HEAD"
  const rule = rules.find((it) => it.path.test(path) && (it.isRead ?? isRead) === isRead)
  if (!rule) throw new Error(`no scope is decided for ${method} ${path}`)
  return rule.scope
}
