/**
 * The page behind "View status" of both official CLIs (control-plane §2.2, row 4). A browser is led to the console, whether there is such a
 * deployment or not. A program without a key gets what is in the address, and one with a key more.
 */
import { z } from "@hono/zod-openapi"
import type { Db } from "@superstep/toolkit/db/database"
import { type Api, addRoute } from "@superstep/toolkit/http/route"
import type { Context } from "hono"
import { html } from "hono/html"
import { asksForPage } from "../http/asked-page.js"
import { uuid } from "../http/fields.js"
import { findRevision } from "../revisions/operations.js"
import type { Caller } from "../workspaces/workspace.js"
import { publicUrl } from "./deployment.js"
import { findDeployment } from "./operations.js"

interface StatusPage {
  readonly db: Db
  readonly agentsUrl: string
  /** Identifies the caller. @throws Unauthenticated | Forbidden */
  readonly identify: (c: Context, tenantId: string) => Promise<Caller>
}

/** Rows of a table: name and value. */
type Facts = readonly (readonly [name: string, value: string])[]

export function addStatusPage(api: Api, { db, agentsUrl, identify }: StatusPage): void {
  addRoute(api, {
    method: "get",
    path: "/o/{tenant_id}/host/deployments/{deployment_id}",
    summary: "Leads a browser to the console. For programs: a page with useful commands; with a key also the state.",
    params: z.object({ tenant_id: uuid, deployment_id: uuid }),
    responses: {
      200: { description: "the page", schema: z.string(), contentType: "text/html" },
      302: { description: "to the deployment in the console, for a browser without a key" },
      403: { description: "the key has no rights on this workspace" },
      404: { description: "with a key: the workspace has no such deployment" },
    },
    handle: async ({ c, params: { tenant_id: tenantId, deployment_id: id } }) => {
      c.header("cache-control", "no-store")
      if (asksForPage(c) && !c.req.header("x-api-key")) return c.redirect(`/deployments/${id}?workspace=${tenantId}`)
      const caller = c.req.header("x-api-key") ? await identify(c, tenantId) : undefined
      const known = caller ? await factsOf(db, { workspaceId: caller.workspaceId, id, agentsUrl }) : []
      const facts: Facts = [...known, ["Deployment", id], ["Workspace", tenantId]]
      c.header("content-security-policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'")
      return c.html(render(id, facts))
    },
  })
}

async function factsOf(
  db: Db,
  { workspaceId, id, agentsUrl }: { workspaceId: string; id: string; agentsUrl: string },
): Promise<Facts> {
  const deployment = await findDeployment(db, workspaceId, id)
  const revisionId = deployment.latest_revision_id
  const revision =
    revisionId === null ? undefined : await findRevision(db, { workspaceId, deploymentId: id, revisionId })
  return [
    ["Name", deployment.name],
    ...(deployment.display_name === null ? [] : ([["Display name", deployment.display_name]] as const)),
    ["Status", deployment.status],
    ["Latest revision", revision ? `${revision.status} (${revision.revision_id})` : "none yet"],
    ...(revision?.status_message ? ([["Message", revision.status_message]] as const) : []),
    ["Address", publicUrl(agentsUrl, deployment.route_name)],
  ]
}

const render = (id: string, facts: Facts) => html`<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>Deployment ${id}</title>
<style>body{font:16px/1.5 system-ui,sans-serif;max-width:46rem;margin:3rem auto;padding:0 1rem}
th{text-align:left;padding-right:2rem;vertical-align:top}td{white-space:pre-wrap}pre{background:#f2f2f2;padding:.7rem;overflow:auto}</style></head>
<body>
<h1>Deployment</h1>
<table>${facts.map(([name, value]) => html`<tr><th>${name}</th><td>${value}</td></tr>`)}</table>
<p>The console has more. With your key, on the command line:</p>
<pre>superstep list
superstep revisions ${id}
superstep logs -f ${id}
superstep logs --type build ${id}</pre>
<p>The CLIs of LangGraph do the same:</p>
<pre>langgraph deploy revisions list ${id}
langgraph deploy logs --deployment-id ${id}
langgraph deploy logs --deployment-id ${id} --type build</pre>
</body>
</html>
`
