/**
 * The API's OpenAPI document: the routes' own schemas, and what holds for all of them. Pure. A route says which failures
 * are particular to it; that a key can be wrong, or a body too large, need not be said by each.
 */
import type { Api } from "@superstep/toolkit/http/route"

interface Operation {
  parameters?: { in: string }[]
  requestBody?: object
  responses: Record<string, { description: string; content?: object }>
  [field: string]: unknown
}

const problem = {
  type: "object",
  description: "One thing that is wrong with what was sent.",
  properties: {
    loc: { type: "array", items: { type: ["string", "integer"] }, description: "Where it is: body, query, path …" },
    msg: { type: "string" },
    type: { type: "string" },
  },
  required: ["loc", "msg", "type"],
}

const errorReply = {
  type: "object",
  description: "What went wrong.",
  properties: {
    detail: {
      description: "What happened, and what to do; of malformed input every problem.",
      oneOf: [{ type: "string" }, { type: "array", items: { $ref: "#/components/schemas/Problem" } }],
    },
    code: { type: "string", description: "The same for programs." },
    request_id: { type: "string", description: "The request, as the log names it." },
    conflicting_id: { type: "string", description: "With 409: what is in the way." },
  },
  required: ["detail", "code", "request_id"],
  example: { detail: "A deployment named shop-bot exists: choose another name", code: "name_taken", request_id: "r1" },
}

const errorContent = { "application/json": { schema: { $ref: "#/components/schemas/Error" } } }

const securitySchemes = {
  api_key: { type: "apiKey", in: "header", name: "X-Api-Key", description: "A key of the workspace." },
  tenant_id: {
    type: "apiKey",
    in: "header",
    name: "X-Tenant-Id",
    description: "The workspace; needed with a key of the whole installation only.",
  },
}

const header = (name: string, description: string) => ({
  name,
  in: "header",
  required: false,
  schema: { type: "string" },
  description,
})
const idempotencyKey = header(
  "Idempotency-Key",
  "Names the request for a day: repeated, it has no second effect and gets the first reply.",
)
const ifMatch = header("If-Match", "The ETag of what the change was made on; when it is another one by now, 412.")

/** The document of the routes that were added so far. */
export function openApiDocument(api: Api) {
  const document = api.getOpenAPI31Document({
    openapi: "3.1.0",
    info: {
      title: "Superstep control plane",
      version: "v2",
      description:
        "Every path is also served below /api-host. Every failure is {detail, code, request_id}; unknown fields are " +
        "ignored and named in X-Ignored-Fields. Lists return the next offset; a short page is the last.",
      license: { name: "Apache-2.0", url: "https://www.apache.org/licenses/LICENSE-2.0" },
    },
  })
  const paths = Object.entries(document.paths ?? {}).map(([path, item]) => [path, completed(path, item as never)])
  return {
    ...document,
    servers: [{ url: "/" }, { url: "/api-host" }],
    security: [{ api_key: [] }, { api_key: [], tenant_id: [] }],
    paths: Object.fromEntries(paths) as Readonly<Record<string, object>>,
    components: {
      ...document.components,
      schemas: { ...document.components?.schemas, Error: errorReply, Problem: problem },
      securitySchemes,
    },
  }
}

/** Git hosts have no key: they sign what they send. */
const isProvedOtherwise = /^\/v1\/integrations\/\w+\/webhook$/

function completed(path: string, item: Readonly<Record<string, Operation>>) {
  const operations = Object.entries(item).map(([method, operation]) => [
    method,
    {
      ...operation,
      ...(isProvedOtherwise.test(path) && { security: [] }),
      tags: [operation.tags].flat()[0] ? operation.tags : [tagOf(path)],
      operationId: operationId(method, path),
      parameters: [...(operation.parameters ?? []), ...headersOf(path, method, operation)],
      responses: repliesOf(operation),
    },
  ])
  return Object.fromEntries(operations)
}

/** The things that a path is about: `deployments`, `revisions`, `integrations` … */
function tagOf(path: string): string {
  const words = path.split("/").filter((part) => part !== "" && !/^v\d$|^\{/.test(part))
  return words.includes("revisions") ? "revisions" : (words[0] ?? "")
}

/** `post_deployments_revisions_redeploy`: stable, since it is made of what clients call; v1's says so. */
const operationId = (method: string, path: string): string =>
  [method, ...path.split("/").map((part) => part.replaceAll(/\W+/g, "_").replaceAll(/^_|_$/g, ""))]
    .filter((part) => part !== "" && part !== "v2")
    .join("_")

/** What only reads, what is signed, and what shows a secret once, whose reply cannot be kept. */
const hasNoKey = /(_logs|\/push-token|\/v2\/api-keys|\/v2\/webhooks)$|^\/_uploads\//

/** Of what is removed, only what has a reply to repeat: to remove secrets makes a revision. */
const isRepeatable = (path: string, method: string): boolean =>
  method === "delete"
    ? /\/secrets(\/|$)/.test(path)
    : method !== "get" && !hasNoKey.test(path) && !isProvedOtherwise.test(path)

function headersOf(path: string, method: string, { responses }: Operation) {
  return [...(isRepeatable(path, method) ? [idempotencyKey] : []), ...("412" in responses ? [ifMatch] : [])]
}

function repliesOf({ parameters = [], requestBody, responses }: Operation) {
  const general: Operation["responses"] = {
    401: { description: "no key, or one that is unknown or has ended" },
    403: { description: "the key has no rights on the workspace, or not the scope" },
    ...(requestBody && { 413: { description: "the body is too large" } }),
    ...((parameters.length > 0 || requestBody) && { 422: { description: "malformed input" } }),
    429: { description: "too many requests: Retry-After says when" },
    503: { description: "stopping, or the database is away: Retry-After says when" },
  }
  const all = Object.entries({ ...general, ...responses }).map(([status, reply]) => [
    status,
    Number(status) >= 400 && reply.content === undefined ? { ...reply, content: errorContent } : reply,
  ])
  return Object.fromEntries(all)
}
