/** HTTP for what changed in the code between two revisions. */
import { z } from "@hono/zod-openapi"
import type { Db } from "@superstep/toolkit/db/database"
import { replyToError } from "@superstep/toolkit/http/errors"
import { defaultKeepAliveMs, longAnswer, longAnswers } from "@superstep/toolkit/http/long-answer"
import { type Api, addRoute } from "@superstep/toolkit/http/route"
import type { Log } from "@superstep/toolkit/log/log"
import { uuid } from "../http/fields.js"
import type { ReadCodeChanges } from "./operations.js"
import { codeChangesReply, renderCodeChanges } from "./schema.js"

export interface CodeChangeRoutes {
  readonly db: Db
  readonly log: Log
  readonly readCodeChanges: ReadCodeChanges
  /** @throws NotFound  the workspace has no such deployment */
  readonly findDeployment: (db: Db, workspaceId: string, deploymentId: string) => Promise<unknown>
}

const path = "/v2/deployments/{deployment_id}/revisions/{revision_id}/code-changes"

export function addCodeChangeRoutes(api: Api, { db, log, readCodeChanges, findDeployment }: CodeChangeRoutes): void {
  // Both are fetched from their hosts.
  api.use(
    path.replaceAll(/\{(\w+)\}/g, ":$1"),
    longAnswers({ everyMs: defaultKeepAliveMs, replyTo: replyToError({ log, detail: "list" }) }),
  )
  addRoute(api, {
    method: "get",
    path,
    summary: "Compares the code of a revision with that of another one: which files changed, with diffs.",
    params: z.object({ deployment_id: uuid, revision_id: uuid }),
    query: z.object({ since: uuid.openapi({ description: "the revision to compare with, usually the one before" }) }),
    responses: {
      200: { description: "the files that differ", schema: codeChangesReply },
      404: { description: "the workspace has no such deployment, or the deployment no such revision" },
      409: { description: "the code of one of them is an image, too large to be compared, or no longer there" },
      429: { description: "too many comparisons are in progress" },
      503: { description: "the host of the code does not answer" },
    },
    handle: async ({ c, params, query }) => {
      const { workspaceId } = c.get("caller")
      const { deployment_id: deploymentId, revision_id: after } = params
      await findDeployment(db, workspaceId, deploymentId)
      const asked = { workspaceId, deploymentId, before: query.since, after }
      return longAnswer(c, async () =>
        c.json(renderCodeChanges(await readCodeChanges(db, asked, c.req.raw.signal))),
      ) as never
    },
  })
}
