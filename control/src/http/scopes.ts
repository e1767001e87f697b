/** Which scope a route asks for: one table, from the particular to the general. The first line that fits counts. Pure. */
import type { Scope } from "../workspaces/workspace.js"

interface ScopeRule {
  readonly isRead?: boolean
  /** Of the route as it is documented, such as `/v2/deployments/{deployment_id}`. */
  readonly path: RegExp
  readonly scope: Scope
}

const rules: readonly ScopeRule[] = [
  // Who may enter, who did what, and where news go: nobody reads these by the way.
  { path: /^\/v2\/(api-keys|audit-log|webhooks)(\/|$)/, scope: "admin" },
  { isRead: true, path: /^/, scope: "read" },
  // Both CLIs read logs with a POST.
  { path: /^\/v1\/projects\/.*_logs$/, scope: "read" },
  { path: /\/secrets(\/|$)/, scope: "secrets" },
  // Credentials of others, and who may take work over.
  { path: /^\/v[12]\/integrations(\/|$)/, scope: "admin" },
  { path: /^\/v2\/listeners(\/|$)/, scope: "admin" },
  { path: /^/, scope: "deploy" },
]

/** @param path  the route's own pattern, without `/api-host` */
export function scopeOf(method: string, path: string): Scope {
  const isRead = method === "GET" || method === "HEAD"
  const rule = rules.find((it) => it.path.test(path) && (it.isRead ?? isRead) === isRead)
  if (!rule) throw new Error(`no scope is decided for ${method} ${path}`)
  return rule.scope
}
