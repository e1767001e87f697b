/** HTTP for previews: a deployment's settings, the list, approval and removal. */
import { z } from "@hono/zod-openapi"
import type { Database } from "@superstep/toolkit/db/database"
import { type Api, addRoute } from "@superstep/toolkit/http/route"
import type { Log } from "@superstep/toolkit/log/log"
import { requireScope } from "../access/authenticate.js"
import type { DeploymentRules } from "../deployments/operations.js"
import { uuid } from "../http/fields.js"
import { ignoredFields, setIgnoredFieldsHeader } from "../http/ignored-fields.js"
import { pageOf, pageReply, sendPage } from "../http/page.js"
import { answerOnce } from "../idempotency/idempotency.js"
import { approvePreview, closePreview, findSettings, setPreviews } from "./operations.js"
import { defaultSettings } from "./preview.js"
import { countPreviews, findPreviews } from "./queries.js"
import {
  approvalBody,
  approvalFields,
  previewQuery,
  previewReply,
  renderPreview,
  renderSettings,
  settingsBody,
  settingsFields,
  settingsReply,
} from "./schema.js"

interface PreviewRoutes extends DeploymentRules {
  readonly db: Database
  readonly log: Log
}

const ofDeployment = {
  path: "/v2/deployments/{deployment_id}/previews",
  params: z.object({ deployment_id: uuid }),
} as const
const preview = z.object({ preview_id: uuid })

export function addPreviewRoutes(api: Api, options: PreviewRoutes): void {
  addPut(api, options)
  addReads(api, options)
  addApproval(api, options)
  addDelete(api, options)
}

function addPut(api: Api, { db, log, ...rules }: PreviewRoutes): void {
  addRoute(api, {
    method: "put",
    ...ofDeployment,
    summary: "Enables or changes previews: deployments for the pull requests of a deployment's repository.",
    body: settingsBody,
    responses: {
      200: { description: "the settings", schema: settingsReply },
      400: { description: "the deployment is not built from git, or is a preview itself" },
      403: { description: "the body contains secrets, and the key lacks the scope secrets" },
      404: { description: "the workspace has no such deployment" },
      409: { description: "the deployment is being deleted" },
      422: { description: "the body is malformed" },
    },
    handle: async ({ c, params, body, bodyText }) => {
      const ids = { workspaceId: c.get("caller").workspaceId, deploymentId: params.deployment_id }
      if (bodyText.trim() !== "") setIgnoredFieldsHeader(c, ignoredFields(JSON.parse(bodyText), settingsFields))
      const { secrets, ...given } = body
      // Here an empty list removes the stored secrets.
      if (secrets) requireScope(c, "secrets")
      const settings = {
        is_enabled: given.is_enabled ?? defaultSettings.is_enabled,
        max_previews: given.max_previews ?? defaultSettings.max_previews,
        ttl_days: given.ttl_days ?? defaultSettings.ttl_days,
        approve_label: given.approve_label ?? defaultSettings.approve_label,
      }
      return answerOnce(db, { c, bodyText, workspaceId: ids.workspaceId }, async (tx) => {
        const row = await setPreviews(tx, rules.key, ids, { settings, secrets: secrets ?? undefined })
        const facts = { deployment_id: ids.deploymentId, is_enabled: row.is_enabled }
        const committed = () => log.info(facts, "settings of previews stored")
        return { status: 200, body: renderSettings(row), committed }
      })
    },
  })
}

function addReads(api: Api, { db }: PreviewRoutes): void {
  addRoute(api, {
    method: "get",
    ...ofDeployment,
    summary: "Returns the preview settings of a deployment.",
    responses: {
      200: { description: "the settings", schema: settingsReply },
      404: { description: "the workspace has no such deployment, or it has no preview settings" },
    },
    handle: async ({ c, params }) => {
      const ids = { workspaceId: c.get("caller").workspaceId, deploymentId: params.deployment_id }
      return c.json(renderSettings(await findSettings(db, ids)))
    },
  })
  addRoute(api, {
    method: "get",
    path: "/v2/previews",
    summary: "Lists the workspace's previews, including ended ones, newest first.",
    query: previewQuery,
    responses: { 200: { description: "a page of previews", schema: pageReply(previewReply) } },
    handle: async ({ c, query }) => {
      const page = pageOf(query)
      const { workspaceId } = c.get("caller")
      const filter = { workspaceId, parentId: query.deployment_id, state: query.state }
      const [rows, total] = await Promise.all([findPreviews(db, filter, page), countPreviews(db, filter)])
      return sendPage(c, page, { resources: rows.map(renderPreview), total })
    },
  })
}

function addApproval(api: Api, { db, log, ...rules }: PreviewRoutes): void {
  addRoute(api, {
    method: "post",
    path: "/v2/previews/{preview_id}/approval",
    params: preview,
    summary: "Approves the newest commit of a fork's pull request, which then runs with the preview secrets.",
    body: approvalBody,
    responses: {
      200: { description: "the preview", schema: previewReply },
      404: { description: "the workspace has no such preview" },
      409: { description: "the pull request is closed, or has a newer commit" },
      422: { description: "the body is malformed" },
    },
    handle: async ({ c, params, body, bodyText }) => {
      if (bodyText.trim() !== "") setIgnoredFieldsHeader(c, ignoredFields(JSON.parse(bodyText), approvalFields))
      const { workspaceId } = c.get("caller")
      const asked = { workspaceId, previewId: params.preview_id, sha: body.sha ?? undefined }
      return answerOnce(db, { c, bodyText, workspaceId }, async (tx) => {
        const row = await approvePreview(tx, rules, asked)
        const facts = { preview_id: row.preview_id, sha: row.approved_sha }
        return { status: 200, body: renderPreview(row), committed: () => log.info(facts, "preview approved") }
      })
    },
  })
}

function addDelete(api: Api, { db, log }: PreviewRoutes): void {
  addRoute(api, {
    method: "delete",
    path: "/v2/previews/{preview_id}",
    params: preview,
    summary: "Deletes a preview; the next push to its pull request creates it again.",
    responses: {
      204: { description: "marked for deletion" },
      404: { description: "the workspace has no such preview" },
    },
    handle: async ({ c, params }) => {
      await db.transaction((tx) => closePreview(tx, c.get("caller").workspaceId, params.preview_id))
      log.info({ preview_id: params.preview_id }, "preview removed")
      return c.body(null, 204)
    },
  })
}
