/**
 * The caller of a request, and what the project's access rules allow it (agent-server-api §12). Every operation on a
 * resource that users own takes the caller and asks for authorization once. The returned filter becomes part of the SQL
 * statement, so a resource that the caller may not see looks like one that does not exist (404).
 */
import type { Person } from "@superstep/protocol/http/person"
import type { MetadataFilter } from "./metadata-filter.js"

/** The user that `authenticate` returned. The graph also receives all other fields that the handler returned. */
export interface User {
  readonly identity: string
  readonly display_name: string
  readonly is_authenticated: boolean
  readonly permissions: readonly string[]
  readonly [field: string]: unknown
}

/** The events that access rules decide, named as in LangGraph's SDKs. */
export type AccessEvent =
  | `assistants:${"create" | "read" | "update" | "delete" | "search"}`
  | `threads:${"create" | "read" | "update" | "delete" | "search" | "create_run"}`
  | `crons:${"create" | "read" | "update" | "delete" | "search"}`
  | `store:${"put" | "get" | "search" | "delete" | "list_namespaces"}`

/** The result of an authorization that was granted. */
export interface Permit<Value> {
  /** The requested value with the handler's changes. This is what is stored. */
  readonly value: Value
  /** What the metadata of every affected resource must match. Undefined: no condition. */
  readonly filter: MetadataFilter | undefined
}

/** What the edge has seen of the sender: a session of the console (decisions 63 and 94). */
export interface SeenSender {
  /** Whose session it is; undefined for that of a key. */
  readonly person: Person | undefined
  /** Whether they may answer what agents ask, and change states of threads. */
  readonly mayApprove: boolean
}

export interface Caller {
  /** Undefined for callers with a key, for users of the project, and for the server's own work. */
  readonly seen?: SeenSender | undefined
  /** Undefined if the project has no access rules. */
  readonly user: User | undefined
  /**
   * Calls the project's `on` handler of the event. Call this before reading or changing anything.
   * @param value  the request as JSON, with the fields of agent-server-api §12.3
   * @throws Forbidden        the handler rejected the request
   * @throws Unauthenticated  or another error with a status that the handler raised
   */
  authorize<Value extends object>(event: AccessEvent, value: Value): Promise<Permit<Value>>
}

/** The fields of `configurable` that describe the caller to the graph. */
export const callerFields = (user: User): Readonly<Record<string, unknown>> => ({
  langgraph_auth_user: user,
  langgraph_auth_user_id: user.identity,
  langgraph_auth_permissions: user.permissions,
})

/** A caller that was authorized before: the graph receives the user, and no rule is evaluated again. */
export const onBehalfOf = (user: User | undefined): Caller => (user === undefined ? anyone : { ...anyone, user })

/** The same caller, as the edge has seen them. */
export const seenAs = (caller: Caller, seen: SeenSender | undefined): Caller =>
  seen === undefined ? caller : { user: caller.user, authorize: (event, value) => caller.authorize(event, value), seen }

/** The caller on servers without access rules, and of the server's own work, such as a cron's run. */
export const anyone: Caller = {
  user: undefined,
  authorize: async (_event, value) => ({ value, filter: undefined }),
}
