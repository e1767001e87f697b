/** HTTP for integrations: our own `/v2/integrations/git` (control-plane §1.9) and the list that GitHub clients read. */
import { z } from "@hono/zod-openapi"
import type { Database } from "@superstep/toolkit/db/database"
import { type Api, addRoute } from "@superstep/toolkit/http/route"
import type { Log } from "@superstep/toolkit/log/log"
import { uuid } from "../http/fields.js"
import { ignoredFields, setIgnoredFieldsHeader } from "../http/ignored-fields.js"
import { pageOf, pageQuery, pageReply, sendPage } from "../http/page.js"
import { answerOnce } from "../idempotency/idempotency.js"
import type { MasterKey } from "../secrets/seal.js"
import {
  allIntegrations,
  createIntegration,
  deleteIntegration,
  findIntegration,
  listIntegrations,
} from "./operations.js"
import { integrationBody, integrationFields, integrationReply, renderIntegration } from "./schema.js"

interface IntegrationRoutes {
  readonly db: Database
  readonly log: Log
  readonly key: MasterKey
}

const onePath = { path: "/v2/integrations/git/{integration_id}", params: z.object({ integration_id: uuid }) } as const
const notFound = { 404: { description: "the workspace has no such integration" } } as const

export function addIntegrationRoutes(api: Api, options: IntegrationRoutes): void {
  addCreate(api, options)
  addReads(api, options)
  addDelete(api, options)
  addGithubList(api, options)
}

function addCreate(api: Api, { db, log, key }: IntegrationRoutes): void {
  addRoute(api, {
    method: "post",
    path: "/v2/integrations/git",
    summary: "Stores credentials for a git host; the token is never shown again.",
    body: integrationBody,
    responses: {
      201: { description: "the integration", schema: integrationReply },
      409: { description: "the name is taken" },
      422: { description: "the body is malformed" },
    },
    handle: async ({ c, body, bodyText }) => {
      const { workspaceId } = c.get("caller")
      setIgnoredFieldsHeader(c, ignoredFields(JSON.parse(bodyText), integrationFields))
      return answerOnce(db, { c, bodyText, workspaceId }, async (tx) => {
        const row = await createIntegration(tx, key, workspaceId, body)
        return {
          status: 201,
          body: renderIntegration(row),
          committed: () => log.info({ integration_id: row.integration_id, host: row.host }, "integration created"),
        }
      })
    },
  })
}

function addReads(api: Api, { db }: IntegrationRoutes): void {
  addRoute(api, {
    method: "get",
    path: "/v2/integrations/git",
    summary: "Lists the workspace's integrations, newest first.",
    query: z.object(pageQuery),
    responses: { 200: { description: "a page of integrations", schema: pageReply(integrationReply) } },
    handle: async ({ c, query }) => {
      const page = pageOf(query)
      const { rows, total } = await listIntegrations(db, c.get("caller").workspaceId, page)
      return sendPage(c, page, { resources: rows.map(renderIntegration), total })
    },
  })
  addRoute(api, {
    method: "get",
    ...onePath,
    summary: "Reads an integration.",
    responses: { 200: { description: "the integration", schema: integrationReply }, ...notFound },
    handle: async ({ c, params }) =>
      c.json(renderIntegration(await findIntegration(db, c.get("caller").workspaceId, params.integration_id))),
  })
}

function addDelete(api: Api, { db, log }: IntegrationRoutes): void {
  addRoute(api, {
    method: "delete",
    ...onePath,
    summary: "Deletes an integration that no deployment uses.",
    responses: { 204: { description: "deleted" }, ...notFound, 409: { description: "a deployment uses it" } },
    handle: async ({ c, params }) => {
      const { workspaceId } = c.get("caller")
      await db.transaction((tx) => deleteIntegration(tx, workspaceId, params.integration_id))
      log.info({ integration_id: params.integration_id }, "integration deleted")
      return c.body(null, 204)
    },
  })
}

/** The original lists the installations of its GitHub App here; ours have none, so only the id matters. */
function addGithubList(api: Api, { db }: IntegrationRoutes): void {
  const githubIntegration = z.object({ id: z.string(), installation_id: z.int(), name: z.string() })
  addRoute(api, {
    method: "get",
    path: "/v1/integrations/github/install",
    summary: "Lists all integrations in the format that GitHub clients expect.",
    responses: { 200: { description: "every integration", schema: z.array(githubIntegration) } },
    handle: async ({ c }) => {
      const rows = await allIntegrations(db, c.get("caller").workspaceId)
      return c.json(rows.map((row) => ({ id: row.integration_id, installation_id: 0, name: row.name })))
    },
  })
}
