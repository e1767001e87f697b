/**
 * The server's OpenAPI document: the routes' own schemas, plus the responses that all routes share. Pure.
 *
 * A route declares only its own errors. Errors that many routes share, such as 413 or 422, are added here.
 */
import type { Api } from "@superstep/toolkit/http/route"
import { type DisableFlag, isDisabled } from "../http/disabled.js"
import { examples } from "./examples.js"

export interface DocumentOptions {
  readonly version: string
  readonly disabled: readonly DisableFlag[]
  /** The path prefix under which clients reach the routes: empty, or a path. */
  readonly prefix: string
  /** Whether a request needs the deployment's key. */
  readonly needsKey: boolean
  /** `auth.openapi` of langgraph.json: the project's description of its authentication. */
  readonly auth: {
    readonly securitySchemes?: object | undefined
    readonly security?: object[] | undefined
    readonly paths?: Readonly<Record<string, unknown>> | undefined
  }
}

interface Operation {
  parameters?: { in: string }[]
  requestBody?: { content: Record<string, { example?: unknown }> }
  responses: Record<string, { description: string; content?: object }>
  [field: string]: unknown
}

const errorReply = {
  type: "object",
  description: "An error.",
  properties: {
    detail: { type: "string", description: "What happened and what to do next, for people." },
    code: { type: "string", description: "The kind of error, for programs." },
    doc_url: { type: "string", description: "Where the code is explained: its cause and the next step." },
    request_id: { type: "string", description: "The request's id in the server's log." },
  },
  required: ["detail"],
  example: { detail: "body.assistant_id: this field is required", code: "invalid_input" },
}

const errorContent = { "application/json": { schema: { $ref: "#/components/schemas/ErrorResponse" } } }

const apiKey = { type: "apiKey", in: "header", name: "x-api-key", description: "The workspace's key." }

const description =
  "Runs LangGraph agents. Streams are Server-Sent Events: docs/streaming.md of Superstep describes their names and order. " +
  "Every error is `{detail, code, doc_url}`."

/** The document of all routes that have been added to `api`. */
export function openApiDocument(api: Api, options: DocumentOptions): object {
  const { version, disabled, prefix, needsKey, auth } = options
  const document = api.getOpenAPI31Document({
    openapi: "3.1.0",
    info: {
      title: "Superstep agent server",
      version,
      description,
      license: { name: "Apache-2.0", url: "https://www.apache.org/licenses/LICENSE-2.0" },
    },
  })
  const paths = Object.entries(document.paths ?? {}).filter(([path]) => !isDisabled(disabled, path))
  const securitySchemes = { ...(needsKey && { api_key: apiKey }), ...auth.securitySchemes }
  const security = auth.security ?? (needsKey ? [{ api_key: [] }] : [])
  return {
    ...document,
    servers: [{ url: prefix === "" ? "/" : prefix }],
    security,
    paths: Object.fromEntries(
      paths.map(([path, item]) => [path, completed(path, item as never, security.length > 0, auth.paths?.[path])]),
    ),
    components: {
      ...document.components,
      schemas: { ...document.components?.schemas, ErrorResponse: errorReply },
      ...(Object.keys(securitySchemes).length > 0 && { securitySchemes }),
    },
  }
}

function completed(path: string, item: Readonly<Record<string, Operation>>, hasAccess: boolean, project: unknown) {
  const operations = Object.entries(item).map(([method, operation]) => [
    method,
    {
      operationId: operationId(method, path),
      ...withExample(operation, examples[`${method.toUpperCase()} ${path}`]),
      responses: repliesOf(path, operation, hasAccess),
      ...(project as Readonly<Record<string, object>> | undefined)?.[method],
    },
  ])
  return Object.fromEntries(operations)
}

/** `post_threads_runs_stream`: stable, because it is derived from the method and path. */
const operationId = (method: string, path: string): string =>
  [method, ...path.split("/").map((part) => part.replaceAll(/\W+/g, "_").replaceAll(/^_|_$/g, ""))]
    .filter(Boolean)
    .join("_")

function withExample(operation: Operation, example: unknown): Operation {
  const { requestBody } = operation
  const json = requestBody?.content["application/json"]
  if (!requestBody || !json || example === undefined) return operation
  return { ...operation, requestBody: { ...requestBody, content: { "application/json": { ...json, example } } } }
}

function repliesOf(path: string, { parameters = [], requestBody, responses }: Operation, hasAccess: boolean) {
  const isAboutTheServer = ["/ok", "/info", "/metrics"].includes(path)
  const isAboutIds = parameters.some((parameter) => parameter.in === "path")
  const general: Operation["responses"] = {
    ...(hasAccess && { 401: { description: "No key, or an unknown one" }, 403: { description: "Not allowed" } }),
    ...(isAboutIds && { 404: { description: "Not found" } }),
    ...(requestBody && { 413: { description: "The body is too large" } }),
    ...((parameters.length > 0 || requestBody) && { 422: { description: "Invalid input" } }),
    ...(!isAboutTheServer && {
      429: { description: "A limit of the server is exceeded: retry after the time in Retry-After" },
    }),
    ...(path !== "/info" && {
      503: { description: "The server is starting, or its database is unavailable: try again" },
    }),
  }
  return Object.fromEntries(
    Object.entries({ ...general, ...responses }).map(([status, reply]) => [
      status,
      Number(status) >= 400 && reply.content === undefined ? { ...reply, content: errorContent } : reply,
    ]),
  )
}
