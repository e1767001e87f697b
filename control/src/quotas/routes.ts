/** HTTP for quotas: a workspace reads its own, the operator sets them. */
import type { Database } from "@superstep/toolkit/db/database"
import { type Api, addRoute } from "@superstep/toolkit/http/route"
import type { Log } from "@superstep/toolkit/log/log"
import { requireOperator } from "../access/authenticate.js"
import { recordResource } from "../audit/current-write.js"
import { ignoredFieldsOf, setIgnoredFieldsHeader } from "../http/ignored-fields.js"
import { answerOnce } from "../idempotency/idempotency.js"
import { type QuotaRules, readQuotas, setQuotas, type UseOfWorkspaces } from "./operations.js"
import { type OwnQuotas, quotaNames } from "./quota.js"
import { quotaBody, quotaFields, quotasReply, renderQuotas } from "./schema.js"

interface QuotaRoutes extends QuotaRules, UseOfWorkspaces {
  readonly db: Database
  readonly log: Log
}

const path = "/v2/quotas"
const reply = {
  description: "each quota of the workspace, and how much of it the deployments use",
  schema: quotasReply,
}

export function addQuotaRoutes(api: Api, options: QuotaRoutes): void {
  const { db, log } = options
  addRoute(api, {
    method: "get",
    path,
    summary: "Returns the quotas of the workspace and their use.",
    responses: { 200: reply },
    handle: async ({ c }) => c.json(renderQuotas(await readQuotas(db, options, c.get("caller").workspaceId))),
  })
  addRoute(api, {
    method: "patch",
    path,
    summary: "Sets quotas of the workspace that X-Tenant-Id names; requires a key of the installation.",
    body: quotaBody,
    responses: {
      200: reply,
      403: { description: "the key belongs to a workspace: only a key of the installation may set quotas" },
    },
    handle: async ({ c, body, bodyText }) => {
      requireOperator(c, "only the operator sets quotas")
      const { workspaceId } = c.get("caller")
      setIgnoredFieldsHeader(c, ignoredFieldsOf(bodyText, quotaFields))
      recordResource(workspaceId)
      return answerOnce(db, { c, bodyText, workspaceId }, async (tx) => {
        await setQuotas(tx, workspaceId, named(body))
        const status = await readQuotas(tx, options, workspaceId)
        const facts = { workspace_id: workspaceId, ...status.quotas }
        return { status: 200, body: renderQuotas(status), committed: () => log.info(facts, "quotas set") }
      })
    },
  })
}

/** Absent fields keep their value. */
const named = (body: Partial<Record<keyof OwnQuotas, number | null | undefined>>): Partial<OwnQuotas> =>
  Object.fromEntries(quotaNames.flatMap((name) => (body[name] === undefined ? [] : [[name, body[name]]])))
