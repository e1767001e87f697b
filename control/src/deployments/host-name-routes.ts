/** HTTP for the host names of a deployment. */
import { z } from "@hono/zod-openapi"
import type { Database } from "@superstep/toolkit/db/database"
import { type Api, addRoute } from "@superstep/toolkit/http/route"
import type { Log } from "@superstep/toolkit/log/log"
import { ignoredFieldsOf, setIgnoredFieldsHeader } from "../http/ignored-fields.js"
import { answerOnce } from "../idempotency/idempotency.js"
import type { QuotaRules } from "../quotas/operations.js"
import { notFound, onePath } from "./answer.js"
import { addHostName, deleteHostName, type HostNameRules, listHostNames } from "./host-name-operations.js"
import { hostNameBody, hostNameFields, hostNameReply, hostNamesReply, renderHostName } from "./host-name-schema.js"

interface HostNameRoutes extends QuotaRules {
  readonly db: Database
  readonly log: Log
  /** The public address of the edge; its protocol is that of host names. */
  readonly agentsUrl: string
  readonly hostNames: HostNameRules
}

const path = `${onePath.path}/host-names`

export function addHostNameRoutes(api: Api, options: HostNameRoutes): void {
  addRead(api, options)
  addPost(api, options)
  addDelete(api, options)
}

const schemeOf = (agentsUrl: string) => (agentsUrl.startsWith("https:") ? "https" : "http")

function addRead(api: Api, { db, agentsUrl }: HostNameRoutes): void {
  addRoute(api, {
    method: "get",
    path,
    params: onePath.params,
    summary: "Lists the deployment's host names.",
    responses: { 200: { description: "its names, in alphabetical order", schema: hostNamesReply }, ...notFound },
    handle: async ({ c, params }) => {
      const ids = { workspaceId: c.get("caller").workspaceId, deploymentId: params.deployment_id }
      const rows = await listHostNames(db, ids)
      return c.json({ resources: rows.map((row) => renderHostName(row, schemeOf(agentsUrl))) })
    },
  })
}

function addPost(api: Api, { db, log, agentsUrl, hostNames, defaultQuotas }: HostNameRoutes): void {
  addRoute(api, {
    method: "post",
    path,
    params: onePath.params,
    summary: "Adds a host name, under which the deployment's API is reachable without a prefix.",
    body: hostNameBody,
    responses: {
      200: { description: "the deployment has the name already", schema: hostNameReply },
      201: { description: "the host name", schema: hostNameReply },
      403: { description: "only a key of the installation may add this name" },
      ...notFound,
      409: { description: "the name belongs to another deployment, or a quota of the workspace is exceeded" },
      422: { description: "it is no host name, or the platform's own" },
    },
    handle: async ({ c, params, body, bodyText }) => {
      const { workspaceId, isOperator } = c.get("caller")
      const ids = { workspaceId, deploymentId: params.deployment_id, isOperator }
      setIgnoredFieldsHeader(c, ignoredFieldsOf(bodyText, hostNameFields))
      return answerOnce(db, { c, bodyText, workspaceId }, async (tx) => {
        const { row, isNew } = await addHostName(tx, { ...hostNames, defaultQuotas }, ids, body.name)
        const facts = { deployment_id: ids.deploymentId, host_name: row.host_name }
        const committed = () => log.info(facts, "host name added")
        return { status: isNew ? 201 : 200, body: renderHostName(row, schemeOf(agentsUrl)), committed }
      })
    },
  })
}

function addDelete(api: Api, { db, log }: HostNameRoutes): void {
  addRoute(api, {
    method: "delete",
    path: `${path}/{host_name}`,
    params: onePath.params.extend({ host_name: z.string() }),
    summary: "Removes a host name from the deployment.",
    responses: {
      204: { description: "removed" },
      404: { description: "the workspace has no such deployment, or the deployment no such name" },
    },
    handle: async ({ c, params: { deployment_id: deploymentId, host_name: name } }) => {
      const { workspaceId } = c.get("caller")
      await db.transaction((tx) => deleteHostName(tx, { workspaceId, deploymentId }, name))
      log.info({ deployment_id: deploymentId, host_name: name }, "host name removed")
      return c.body(null, 204)
    },
  })
}
