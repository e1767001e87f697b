/**
 * Who sent a request, and what the project's access rules let it see and do (agent-server-api §12). Every operation on
 * something that users own takes its caller and asks it once; the answer's filter goes into the statement, so what a
 * caller may not see is as absent for it as what is not there.
 */
import type { MetadataFilter } from "./metadata-filter.js"

/** What `authenticate` told about who calls; other fields of the handler's answer pass through to the graph. */
export interface User {
  readonly identity: string
  readonly display_name: string
  readonly is_authenticated: boolean
  readonly permissions: readonly string[]
  readonly [field: string]: unknown
}

/** What a rule is asked about, as handlers of LangGraph's SDKs name it. */
export type AccessEvent =
  | `assistants:${"create" | "read" | "update" | "delete" | "search"}`
  | `threads:${"create" | "read" | "update" | "delete" | "search" | "create_run"}`
  | `crons:${"create" | "read" | "update" | "delete" | "search"}`
  | `store:${"put" | "get" | "search" | "delete" | "list_namespaces"}`

/** The answer to a caller that may go on. */
export interface Permit<Value> {
  /** What was asked for, with the changes that a handler made; these are what is stored. */
  readonly value: Value
  /** What the metadata of everything touched must match; undefined: no condition. */
  readonly filter: MetadataFilter | undefined
}

export interface Caller {
  /** Undefined where the project has no access rules of its own. */
  readonly user: User | undefined
  /**
   * Asks the project's `on` handlers. It is called before anything is read or changed.
   * @param value  JSON of what is asked for, with the fields of agent-server-api §12.3
   * @throws Forbidden        a handler said no
   * @throws Unauthenticated  or whatever else a handler raised with a status of its own
   */
  authorize<Value extends object>(event: AccessEvent, value: Value): Promise<Permit<Value>>
}

/** What the graph is told of who calls. */
export const callerFields = (user: User): Readonly<Record<string, unknown>> => ({
  langgraph_auth_user: user,
  langgraph_auth_user_id: user.identity,
  langgraph_auth_permissions: user.permissions,
})

/** The server's own work for somebody: the graph is told who, and nothing is asked again. */
export const onBehalfOf = (user: User | undefined): Caller => (user === undefined ? anyone : { ...anyone, user })

/** The caller of a server without access rules, and of the server's own work, such as a cron that fires. */
export const anyone: Caller = {
  user: undefined,
  authorize: async (_event, value) => ({ value, filter: undefined }),
}
