/** Asking a server for what no client should ask for: a server with something in it, and requests as they are. */
import { type AgentServerProcess, startAgentServer } from "./agent-servers.js"
import { oddBodies, oddValues } from "./malformed.js"
import { type Document, type Route, type RouteBody, routesOf } from "./openapi-routes.js"

// A request that is not answered within this is a hang.
const patienceMs = 120_000

const absent = "00000000-0000-4000-8000-000000000000"

export interface Asked {
  readonly method: string
  readonly path: string
  readonly body?: string | Uint8Array<ArrayBuffer>
  readonly headers?: Readonly<Record<string, string>>
}

export interface Reply {
  readonly status: number
  readonly text: string
}

/** A server with a thread on which a run has ended, and what its document lists. */
export async function startServer(databaseUri: string) {
  const server = await startAgentServer({ databaseUri })
  const { client } = server
  const thread = await client.threads.create()
  const run = await client.runs.create(thread.thread_id, "steps", { input: {} })
  await client.runs.join(thread.thread_id, run.run_id)
  const ids: Readonly<Record<string, string>> = {
    thread_id: thread.thread_id,
    run_id: run.run_id,
    assistant_id: "steps",
  }
  const document = (await (await fetch(`${server.url}/openapi.json`, { headers: server.headers })).json()) as Document
  const routes = routesOf(document).map(({ body, ...route }) => ({ ...route, body: body && withGraph(body) }))
  return { server, ids, routes }
}

/** A body whose run fails at once, which is enough: what is odd is read before. */
const withGraph = (body: RouteBody): RouteBody =>
  "assistant_id" in body.least ? { ...body, least: { ...body.least, assistant_id: "fail" } } : body

export const pathOf = (path: string, ids: Readonly<Record<string, string>>): string =>
  path.replaceAll(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? absent)

export async function ask(
  { url, headers: own }: AgentServerProcess,
  { method, path, body, headers }: Asked,
): Promise<Reply> {
  const response = await fetch(`${url}${path}`, {
    method,
    headers: { "content-type": "application/json", ...own, ...headers },
    signal: AbortSignal.timeout(patienceMs),
    ...(body !== undefined && { body }),
  })
  // A stream may last; that it began is the answer.
  if (response.headers.get("content-type")?.startsWith("text/event-stream")) {
    await response.body?.cancel()
    return { status: response.status, text: "" }
  }
  return { status: response.status, text: await response.text() }
}

/** Asks for all, a few at a time. */
export async function askAll<A, R>(
  requests: Iterator<A>,
  ask: (asked: A) => Promise<R>,
  judge: (asked: A, reply: R) => void,
): Promise<void> {
  const askOn = async () => {
    for (let next = requests.next(); !next.done; next = requests.next()) judge(next.value, await ask(next.value))
  }
  await Promise.all(Array.from({ length: 8 }, askOn))
}

export const shown = ({ method, path, body, headers }: Asked, { status, text }: Reply): string =>
  `${method} ${path.slice(0, 200)} ${String(body ?? "").slice(0, 200)} ${headers ? JSON.stringify(headers).slice(0, 200) : ""} -> ${status} ${text.slice(0, 200)}`

/** The least body that a route takes. */
export const bodyFor = ({ body }: Route): Pick<Asked, "body"> => (body ? { body: JSON.stringify(body.least) } : {})

/** Bodies that a route's schema does not allow. @param isTaken  a value that is taken although the schema says nothing of it */
export function* forbiddenBodies(
  { body }: Route,
  isTaken = (_: unknown) => false,
): Generator<NonNullable<Asked["body"]>> {
  if (!body) return
  yield* oddBodies
  for (const field of body.fields) {
    const { [field]: _, ...rest } = body.least
    for (const { text, value } of oddValues) {
      if (!isTaken(value) && !body.allows({ ...rest, [field]: value })) yield withField(rest, field, text)
    }
  }
}

/** JSON of an object with one more field, whose JSON may be of any kind. */
const withField = (rest: object, field: string, text: string): string =>
  `${JSON.stringify(rest).slice(0, -1)}${Object.keys(rest).length > 0 ? "," : ""}${JSON.stringify(field)}:${text}}`
