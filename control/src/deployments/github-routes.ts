/**
 * The repositories of an integration, in the form that GitHub clients expect (control-plane §1.3). Our integration is only
 * credentials for a host and has no list, so these are the repositories of its deployments.
 */

import { createHash } from "node:crypto"
import { z } from "@hono/zod-openapi"
import type { Db } from "@superstep/toolkit/db/database"
import { type Api, addRoute } from "@superstep/toolkit/http/route"
import { withoutEnd } from "@superstep/toolkit/text/without-end"
import { uuid } from "../http/fields.js"
import { findIntegration } from "../integrations/operations.js"
import { repositoriesOf, type UsedRepository } from "./queries.js"

const githubRepository = z.object({
  host_integration_id: z.string(),
  id: z.int(),
  name: z.string(),
  owner: z.string(),
  url: z.string(),
  default_branch: z.string().openapi({ description: "the branch of its latest deployment" }),
})

export function addGithubRepositories(api: Api, { db }: { readonly db: Db }): void {
  addRoute(api, {
    method: "get",
    path: "/v1/integrations/github/{integration_id}/repos",
    summary: "Lists the repositories of an integration's deployments.",
    params: z.object({ integration_id: uuid }),
    responses: {
      200: { description: "every repository", schema: z.array(githubRepository) },
      404: { description: "the workspace has no such integration" },
    },
    handle: async ({ c, params }) => {
      const { workspaceId } = c.get("caller")
      await findIntegration(db, workspaceId, params.integration_id)
      const used = await repositoriesOf(db, workspaceId, params.integration_id)
      return c.json(used.map((it) => renderRepository(params.integration_id, it)))
    },
  })
}

/** Pure. Accepts both `https://host/owner/name.git` and `git@host:owner/name.git`. */
export function renderRepository(
  integrationId: string,
  { repo_url: url, repo_ref }: UsedRepository,
): z.input<typeof githubRepository> {
  const path = url.replace(/^\w+:\/\/[^/]*\//, "").replace(/^[^/@]*@[^:/]*:/, "")
  const parts = withoutEnd(path, "/")
    .replace(/\.git$/, "")
    .split("/")
  return {
    host_integration_id: integrationId,
    id: stableNumber(url),
    name: parts.at(-1) ?? "",
    owner: parts.slice(0, -1).join("/"),
    url,
    default_branch: repo_ref ?? "main",
  }
}

/** GitHub numbers its repositories; ours get a stable number that JSON represents exactly. */
const stableNumber = (text: string): number => createHash("sha256").update(text).digest().readUIntBE(0, 6)
