/** HTTP for a deployment's secrets: their names by default, their values on request (CP-D5, control-plane §1.9). */
import { z } from "@hono/zod-openapi"
import type { Database } from "@superstep/toolkit/db/database"
import { type Api, addRoute } from "@superstep/toolkit/http/route"
import type { Log } from "@superstep/toolkit/log/log"
import type { Context } from "hono"
import { actorOf, requireScope } from "../access/authenticate.js"
import { recordNow } from "../audit/operations.js"
import { optionalParameter, trueOrFalse, uuid } from "../http/fields.js"
import { answerOnce } from "../idempotency/idempotency.js"
import { secretsOfVersion } from "../secrets/operations.js"
import type { MasterKey } from "../secrets/seal.js"
import { masked } from "../secrets/secret.js"
import { changeSecrets, secretNotFound, type WantedSecrets } from "./change-secrets.js"
import { secretName, secrets, secretValue } from "./fields.js"
import { findDeployment } from "./operations.js"

export interface SecretRoutes {
  readonly db: Database
  readonly log: Log
  readonly key: MasterKey
}

const allPath = { path: "/v2/deployments/{deployment_id}/secrets", params: z.object({ deployment_id: uuid }) } as const
const onePath = {
  path: "/v2/deployments/{deployment_id}/secrets/{name}",
  params: z.object({ deployment_id: uuid, name: secretName }),
} as const

const readQuery = z.object({
  reveal: optionalParameter(trueOrFalse).openapi({
    description: "true: include the values; requires the scope secrets, and is recorded in the audit log",
  }),
})
const changeQuery = z.object({
  deploy: optionalParameter(trueOrFalse).openapi({
    description: "false: create no revision; the change applies from the next revision on",
  }),
})

const secret = z.object({ name: z.string(), value: z.string() })
const list = z.object({ resources: z.array(secret), secrets_version: z.int() })
const changed = z.object({
  names: z.array(z.string()),
  secrets_version: z.int(),
  latest_revision_id: z.string().nullable(),
})

const notFound = {
  404: { description: "the workspace has no such deployment, or the deployment no such secret" },
} as const
const refusals = {
  400: { description: "the name is reserved: the platform sets this variable itself" },
  403: { description: "the key lacks the scope secrets" },
  ...notFound,
  409: { description: "the deployment is being deleted" },
} as const
const changeReply = { 200: { description: "the names after the change", schema: changed }, ...refusals } as const

export function addSecretRoutes(api: Api, options: SecretRoutes): void {
  addReads(api, options)
  addRoute(api, {
    method: "put",
    ...allPath,
    summary: "Replaces all secrets; a value equal to the mask keeps the stored value.",
    query: changeQuery,
    body: z.object({ secrets }),
    responses: changeReply,
    handle: ({ c, params, query, body, bodyText }) =>
      change(options, { c, bodyText }, params.deployment_id, { secrets: body.secrets, mode: "replace", ...query }),
  })
  addRoute(api, {
    method: "delete",
    ...allPath,
    summary: "Removes all secrets.",
    query: changeQuery,
    responses: changeReply,
    handle: ({ c, params, query, bodyText }) =>
      change(options, { c, bodyText }, params.deployment_id, { secrets: [], mode: "replace", ...query }),
  })
  addRoute(api, {
    method: "put",
    ...onePath,
    summary: "Sets one secret and keeps the others.",
    query: changeQuery,
    body: z.object({ value: secretValue }),
    responses: changeReply,
    handle: ({ c, params, query, body, bodyText }) => {
      const wanted = { secrets: [{ name: params.name, value: body.value }], mode: "merge" } as const
      return change(options, { c, bodyText }, params.deployment_id, { ...wanted, ...query })
    },
  })
  addRoute(api, {
    method: "delete",
    ...onePath,
    summary: "Removes one secret.",
    query: changeQuery,
    responses: changeReply,
    handle: ({ c, params, query, bodyText }) => {
      const wanted = { secrets: [{ name: params.name, value: null }], mode: "merge" } as const
      return change(options, { c, bodyText }, params.deployment_id, { ...wanted, ...query })
    },
  })
}

function addReads(api: Api, options: SecretRoutes): void {
  addRoute(api, {
    method: "get",
    ...allPath,
    summary: "Lists the secrets of the next revision.",
    query: readQuery,
    responses: { 200: { description: "names, with masks or values", schema: list }, ...notFound },
    handle: async ({ c, params, query }) => c.json(await read(c, options, params.deployment_id, query.reveal ?? false)),
  })
  addRoute(api, {
    method: "get",
    ...onePath,
    summary: "Reads one secret of the next revision.",
    query: readQuery,
    responses: { 200: { description: "its name, with the mask or its value", schema: secret }, ...notFound },
    handle: async ({ c, params, query }) => {
      const { resources } = await read(c, options, params.deployment_id, query.reveal ?? false)
      const found = resources.find(({ name }) => name === params.name)
      if (!found) throw secretNotFound(params.name)
      return c.json(found)
    },
  })
}

async function read(c: Context, { db, key }: SecretRoutes, deploymentId: string, reveals: boolean) {
  const { workspaceId } = c.get("caller")
  if (reveals) requireScope(c, "secrets")
  const row = await findDeployment(db, workspaceId, deploymentId)
  const version = row.secrets_version
  if (!reveals) return { resources: masked(row.secret_names), secrets_version: version }
  // Before the values are sent, so that the log has an entry in any case.
  await recordNow(db)
  c.header("cache-control", "no-store")
  const values = await secretsOfVersion(db, key, { workspaceId, deploymentId }, version)
  return { resources: Object.entries(values).map(([name, value]) => ({ name, value })), secrets_version: version }
}

function change(
  { db, log, key }: SecretRoutes,
  { c, bodyText }: { c: Context; bodyText: string },
  deploymentId: string,
  { deploy = true, ...wanted }: Pick<WantedSecrets, "secrets" | "mode"> & { deploy?: boolean | undefined },
): Promise<Response> {
  const caller = c.get("caller")
  const { workspaceId } = caller
  const asked = { ...wanted, deploy, actor: actorOf(caller) }
  return answerOnce(db, { c, bodyText, workspaceId }, async (tx) => {
    const row = await changeSecrets(tx, { key }, { workspaceId, deploymentId }, asked)
    const { secret_names: names, secrets_version, latest_revision_id } = row
    const facts = { deployment_id: deploymentId, secrets_version }
    const committed = () => log.info(facts, "secrets changed")
    return { status: 200, body: { names, secrets_version, latest_revision_id }, committed }
  })
}
