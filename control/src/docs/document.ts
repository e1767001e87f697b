/**
 * The API's OpenAPI document: the routes' own schemas, and what applies to all of them. Pure. A route declares only its
 * particular failures; common ones, such as a wrong key or a body that is too large, are added here.
 */
import { sessionCookieName } from "@superstep/protocol/http/session-cookie"
import type { Api } from "@superstep/toolkit/http/route"
import { docsAddress } from "@superstep/toolkit/published"

interface Operation {
  parameters?: { in: string }[]
  requestBody?: object
  responses: Record<string, { description: string; content?: object }>
  [field: string]: unknown
}

const problem = {
  type: "object",
  description: "One problem of the request.",
  properties: {
    loc: {
      type: "array",
      items: { type: ["string", "integer"] },
      description: "Location of the problem: body, query or path, then field names",
    },
    msg: { type: "string" },
    type: { type: "string" },
  },
  required: ["loc", "msg", "type"],
}

const errorReply = {
  type: "object",
  description: "An error.",
  properties: {
    detail: {
      description: "What happened, and what to do; for malformed input a list of all problems.",
      oneOf: [{ type: "string" }, { type: "array", items: { $ref: "#/components/schemas/Problem" } }],
    },
    code: { type: "string", description: "The error as a stable code." },
    doc_url: { type: "string", description: "Where the code is explained: its cause and the next step." },
    request_id: { type: "string", description: "The id of the request in the log." },
    conflicting_id: { type: "string", description: "With 409: the id of the conflicting resource." },
  },
  required: ["detail", "code", "doc_url", "request_id"],
  example: {
    detail: "A deployment named shop-bot exists: choose another name",
    code: "name_taken",
    doc_url: docsAddress("errors", "name_taken"),
    request_id: "r1",
  },
}

const errorContent = { "application/json": { schema: { $ref: "#/components/schemas/Error" } } }

const securitySchemes = {
  api_key: { type: "apiKey", in: "header", name: "X-Api-Key", description: "A key of the workspace." },
  console_session: {
    type: "apiKey",
    in: "cookie",
    name: sessionCookieName,
    description:
      "A session of the console, in place of the key. Requests that change something must come from its own pages.",
  },
  tenant_id: {
    type: "apiKey",
    in: "header",
    name: "X-Tenant-Id",
    description: "The workspace; required with a key of the installation only.",
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
  "Identifies the request for 24 hours: a repetition has no effect and gets the first reply.",
)
const ifMatch = header("If-Match", "The ETag of the version to change; 412 if the resource has changed since.")

/** The document of the routes that were added so far. */
export function openApiDocument(api: Api) {
  const document = api.getOpenAPI31Document({
    openapi: "3.1.0",
    info: {
      title: "Superstep control plane",
      version: "v2",
      description:
        "Every path is also served below /api-host. Every failure is {detail, code, doc_url, request_id}; unknown fields are " +
        "ignored and named in X-Ignored-Fields. Lists return the next offset; a short page is the last.",
      license: { name: "Apache-2.0", url: "https://www.apache.org/licenses/LICENSE-2.0" },
    },
  })
  const paths = Object.entries(document.paths ?? {}).map(([path, item]) => [path, completed(path, item as never)])
  return {
    ...document,
    servers: [{ url: "/" }, { url: "/api-host" }],
    security: [{ api_key: [] }, { api_key: [], tenant_id: [] }, { console_session: [] }],
    paths: Object.fromEntries(paths) as Readonly<Record<string, object>>,
    components: {
      ...document.components,
      schemas: { ...document.components?.schemas, Error: errorReply, Problem: problem },
      securitySchemes,
    },
  }
}

/** Git hosts have no key: they sign what they send. People who sign in send a code or a key in the body. */
const isProvedOtherwise =
  /^\/v1\/integrations\/\w+\/webhook$|^\/v2\/console\/(sessions?|sign-in|oidc|oidc\/callback|invitation)$/

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

/** The resources in a path: `deployments`, `revisions`, `integrations` … */
function tagOf(path: string): string {
  const words = path.split("/").filter((part) => part !== "" && !/^v\d$|^\{/.test(part))
  return words.includes("revisions") ? "revisions" : (words[0] ?? "")
}

/** `post_deployments_revisions_redeploy`: stable, since it is derived from what clients call; that of v1 says so. */
const operationId = (method: string, path: string): string =>
  [method, ...path.split("/").map((part) => part.replaceAll(/\W+/g, "_").replaceAll(/^_|_$/g, ""))]
    .filter((part) => part !== "" && part !== "v2")
    .join("_")

/** Routes that only read, that are signed, or that show a secret once, whose reply must not be stored. */
const hasNoKey =
  /(_logs|\/push-token|\/agent-token|\/v2\/console\/codes|\/v2\/invitations|\/v2\/api-keys|\/v2\/webhooks|\/v2\/listeners\/.*\/tokens)$|^\/_uploads\//

/** Of the deletions, only those with a reply to repeat: removing secrets creates a revision. */
const isRepeatable = (path: string, method: string): boolean =>
  method === "delete"
    ? /\/secrets(\/|$)/.test(path)
    : method !== "get" && !hasNoKey.test(path) && !isProvedOtherwise.test(path)

function headersOf(path: string, method: string, { responses }: Operation) {
  return [...(isRepeatable(path, method) ? [idempotencyKey] : []), ...("412" in responses ? [ifMatch] : [])]
}

function repliesOf({ parameters = [], requestBody, responses }: Operation) {
  const general: Operation["responses"] = {
    401: { description: "the key is missing, unknown, revoked or expired" },
    403: { description: "the key has no rights on the workspace, or lacks the scope" },
    ...(requestBody && { 413: { description: "the body is too large" } }),
    ...((parameters.length > 0 || requestBody) && { 422: { description: "malformed input" } }),
    429: { description: "too many requests: retry after Retry-After" },
    503: { description: "the process is stopping, or the database is unavailable: retry after Retry-After" },
  }
  const all = Object.entries({ ...general, ...responses }).map(([status, reply]) => [
    status,
    Number(status) >= 400 && reply.content === undefined ? { ...reply, content: errorContent } : reply,
  ])
  return Object.fromEntries(all)
}
