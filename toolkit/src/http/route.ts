/**
 * One definition creates a route, its validation, its types and its entry in the OpenAPI document. It differs from
 * `app.openapi()` in parsing bodies as LangGraph's servers do: any non-empty body is JSON whatever its content type, and an
 * empty one is `{}` (agent-server-api §1.2; both official CLIs POST without a body).
 */
import { OpenAPIHono, type RouteConfig } from "@hono/zod-openapi"
import type { Context } from "hono"
import type { z } from "zod"
import { InvalidInput, type Problem } from "../errors/errors.js"
import { decodeBody, parseJsonBody } from "./body.js"
import { checkExact } from "./exact-number.js"
import { longAnswer, longJson } from "./long-answer.js"
import { problemsOf } from "./problems.js"

export type Api = OpenAPIHono

type Shape = z.ZodType | undefined
type Parsed<S extends Shape> = S extends z.ZodType ? z.output<S> : undefined

export interface Route<P extends Shape, Q extends Shape, B extends Shape> {
  readonly method: "get" | "post" | "put" | "patch" | "delete"
  /** OpenAPI form: `/threads/{thread_id}/runs`. */
  readonly path: string
  readonly summary: string
  readonly tags?: readonly string[]
  /**
   * Whether an answer can take more than some seconds. `long`: white space is sent before it while the handler works
   * (long-answer.ts). `stream`: the handler sends bytes itself while it works. Undefined: the answer comes soon.
   */
  readonly lasts?: "long" | "stream"
  readonly params?: P
  readonly query?: Q
  readonly body?: B
  /** The error to throw instead for invalid parameters. */
  readonly refuse?: (error: InvalidInput) => Error
  /** Replies by status: a schema, or only a description where there is no JSON body. */
  readonly responses: Readonly<Record<number, { description: string; schema?: z.ZodType; contentType?: string }>>
  /** Gets parsed parameters, or does not run. */
  handle(input: RouteInput<P, Q, B>): Response | Promise<Response>
}

export interface RouteInput<P extends Shape, Q extends Shape, B extends Shape> {
  readonly c: Context
  readonly params: Parsed<P>
  readonly query: Parsed<Q>
  readonly body: Parsed<B>
  /** The raw text of the body, when the route has a body. */
  readonly bodyText: string
}

/**
 * Creates an app whose document lists every route that was added with `addRoute`.
 * @param getPath  the path that the routes see, if it is not the request's own
 */
export const createApi = (getPath?: (request: Request) => string): Api =>
  new OpenAPIHono(getPath === undefined ? {} : { getPath: getPath as never })

/**
 * Adds a route.
 * @throws InvalidInput  to the app's error handler, with every problem of path, query and body at once
 */
export function addRoute<P extends Shape = undefined, Q extends Shape = undefined, B extends Shape = undefined>(
  api: Api,
  spec: Route<P, Q, B>,
): void {
  api.openAPIRegistry.registerPath(documented(spec))
  const form = { ...longJson, type: spec.responses[200]?.contentType ?? longJson.type }
  api.on(spec.method.toUpperCase(), spec.path.replaceAll(/\{(\w+)\}/g, ":$1"), async (c) => {
    const problems: Problem[] = []
    const bodyText = spec.body ? decodeBody(await c.req.arrayBuffer(), c.req.header("content-encoding")) : ""
    const params = parse(spec.params, c.req.param(), "path", problems)
    const query = parse(spec.query, queryOf(c), "query", problems)
    const body = parseBody(spec.body, bodyText, problems)
    const error = problems.length > 0 ? new InvalidInput(problems) : undefined
    if (error) throw spec.refuse?.(error) ?? error
    const answer = async () => spec.handle({ c, params, query, body, bodyText } as RouteInput<P, Q, B>)
    return spec.lasts === "long" ? longAnswer(c, answer, form) : answer()
  })
}

/** A repeated key becomes a list, a single one stays a text. */
function queryOf(c: Context): Record<string, string | string[]> {
  const entries = Object.entries(c.req.queries()).map(([key, values]) => [
    key,
    values.length === 1 ? values[0] : values,
  ])
  return Object.fromEntries(entries)
}

function parseBody(schema: Shape, text: string, problems: Problem[]): unknown {
  try {
    return parse(schema, parseJsonBody(text), "body", problems)
  } catch (error) {
    if (!(error instanceof InvalidInput)) throw error
    problems.push(...error.problems)
    return undefined
  }
}

function parse(schema: Shape, value: unknown, where: string, problems: Problem[]): unknown {
  if (schema === undefined) return undefined
  const { result, value: checked } = checkExact(schema, value)
  if (!result.success) problems.push(...problemsOf(result.error.issues, checked, [where]))
  return result.data
}

function documented(spec: Omit<Route<Shape, Shape, Shape>, "handle">): RouteConfig {
  const responses = Object.entries(spec.responses).map(([status, { description, schema, contentType }]) => [
    status,
    schema ? { description, content: { [contentType ?? "application/json"]: { schema } } } : { description },
  ])
  return {
    method: spec.method,
    path: spec.path,
    summary: spec.summary,
    tags: [...(spec.tags ?? [])],
    ...(spec.lasts && { "x-lasts": spec.lasts }),
    request: {
      ...(spec.params && { params: spec.params }),
      ...(spec.query && { query: spec.query }),
      ...(spec.body && { body: { content: { "application/json": { schema: spec.body } } } }),
    },
    responses: Object.fromEntries(responses),
  } as RouteConfig
}
