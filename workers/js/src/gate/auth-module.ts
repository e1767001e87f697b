/**
 * A project's auth module: who sent a request, and what that user may do (agent-server-api §12.2, §12.3). Its handlers are
 * read from `~handlerCache`, where the SDK's `Auth` stores them; the class is not checked, since a project may have two
 * copies of it.
 */
import type { Denial } from "@superstep/protocol/worker/frames"
import { isRecord } from "@superstep/protocol/worker/validate"

/** A request without its body, which only the route gets. */
export interface RequestHead {
  readonly method: string
  readonly url: string
  readonly headers: readonly (readonly [name: string, value: string])[]
}

export interface User {
  readonly identity: string
  readonly display_name: string
  readonly is_authenticated: boolean
  readonly permissions: readonly string[]
  readonly [field: string]: unknown
}

export interface Question {
  /** Such as `threads:create`. */
  readonly event: string
  /** Key of the handler to call. */
  readonly handler: string
  /** The requested value; a handler may change it. */
  readonly value: unknown
  readonly user: User
}

export type Verdict = { readonly denial: Denial } | { readonly value: unknown; readonly filter: object | undefined }

export interface AuthModule {
  /** Keys of the `on` handlers. */
  readonly handlers: readonly string[]
  authenticate(request: RequestHead): Promise<{ readonly denial: Denial } | { readonly user: User }>
  authorize(question: Question): Promise<Verdict>
}

type Handler = (argument: unknown) => unknown

/** @throws  an error that describes what was exported instead of an `Auth` */
export function authModule(exported: unknown, origin: string): AuthModule {
  const cache = isRecord(exported) ? exported["~handlerCache"] : undefined
  if (!isRecord(cache))
    throw new Error(`${origin} is not an Auth of @langchain/langgraph-sdk/auth: export \`new Auth()\``)
  const { authenticate, callbacks } = cache
  if (!isHandler(authenticate))
    throw new Error(`${origin} has no authenticate handler: every request would be rejected`)
  const handlers = new Map(Object.entries(isRecord(callbacks) ? callbacks : {}))
  return {
    handlers: [...handlers.keys()],
    authenticate: ({ url, method, headers }) =>
      orDenial(async () => {
        const request = new Request(url, { method, headers: headers.map(([name, value]) => [name, value]) })
        return { user: toUser(await authenticate(request)) }
      }),
    authorize: (question) => orDenial(() => ask(handlers.get(question.handler), question)),
  }
}

async function ask(handler: unknown, { event, handler: key, value, user }: Question): Promise<Verdict> {
  if (!isHandler(handler)) throw new Error(`the auth module has no handler for "${key}"`)
  const [resource, action] = event.split(":")
  const { permissions } = user
  const answer = await handler({ event, resource, action, value, permissions, user })
  if (answer === undefined || answer === null || answer === true) return { value, filter: undefined }
  if (answer === false) return { denial: { status: 403, message: "Forbidden", headers: {} } }
  if (!isRecord(answer)) throw new Error(`the handler for "${key}" returned ${describe(answer)}: ${expectedAnswers}`)
  assertJson(answer, `the filter that the handler for "${key}" returned`)
  return { value, filter: answer }
}

const expectedAnswers = "expected nothing, true, false or a filter"

/** A text is the identity; absent fields of an object get defaults (agent-server-api §12.2). */
function toUser(answer: unknown): User {
  const fields = typeof answer === "string" ? { identity: answer } : answer
  if (!isRecord(fields) || typeof fields.identity !== "string") {
    throw new Error(
      `authenticate returned ${describe(answer)}: expected a string, or an object with the string \`identity\``,
    )
  }
  const { identity, permissions, is_authenticated, display_name } = fields
  return {
    ...fields,
    identity,
    permissions: Array.isArray(permissions) ? permissions.map(String) : [],
    is_authenticated: typeof is_authenticated === "boolean" ? is_authenticated : true,
    display_name: typeof display_name === "string" ? display_name : identity,
  }
}

async function orDenial<Answer>(work: () => Promise<Answer>): Promise<Answer | { readonly denial: Denial }> {
  try {
    return await work()
  } catch (error) {
    const denial = denialOf(error)
    if (denial === undefined) throw error
    return { denial }
  }
}

/** Accepts only the SDK's exception, which is meant for the caller: errors of HTTP libraries also have a status, but of another server. */
function denialOf(thrown: unknown): Denial | undefined {
  if (!(thrown instanceof Error) || !isHttpException(thrown)) return undefined
  const { status, headers } = thrown as { status?: unknown; headers?: ConstructorParameters<typeof Headers>[0] }
  if (typeof status !== "number" || !Number.isInteger(status)) return undefined
  return { status, message: thrown.message, headers: Object.fromEntries(new Headers(headers ?? {})) }
}

function isHttpException(error: Error): boolean {
  for (let proto = Object.getPrototypeOf(error); proto !== null; proto = Object.getPrototypeOf(proto)) {
    if (proto.constructor?.name === "HTTPException") return true
  }
  return false
}

/** JSON drops values that it does not support, and a filter that has lost a field would allow too much. */
function assertJson(value: unknown, what: string): void {
  const isPlain = value === null || ["string", "boolean"].includes(typeof value) || Number.isFinite(value)
  if (isPlain) return
  if (typeof value !== "object") throw new Error(`${what} contains ${describe(value)}, which matches nothing`)
  for (const each of Object.values(value as object)) assertJson(each, what)
}

const isHandler = (value: unknown): value is Handler => typeof value === "function"

const describe = (value: unknown): string =>
  value === null || value === undefined ? String(value) : Array.isArray(value) ? "a list" : `a ${typeof value}`
