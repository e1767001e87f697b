/** A workspace with one of everything, the routes of the API's own document, and requests to them. */
import assert from "node:assert/strict"
import { createHash, randomUUID } from "node:crypto"
import { repositoryOf, shaOf, signed } from "@superstep/control/pushes/testing/deliveries"
import { type Reply, startApi, type TestApi } from "@superstep/control/testing/api"
import type { Database } from "@superstep/toolkit/db/database"
import { identifier, sql } from "@superstep/toolkit/db/sql"
import { everyRow } from "../testing/every-row.js"
import { type Document, type Route, routesOf } from "../testing/openapi-routes.js"

/** In everything that is the first workspace's, and in no answer to the other. */
export const mark = "only-the-first-workspace-may-read-this"

export type Ids = Readonly<Record<string, string>>

export interface Furnished extends AsyncDisposable {
  readonly api: TestApi
  readonly routes: readonly Route[]
  /** By the name of a path's parameter. */
  readonly ids: Ids
}

export async function furnish(): Promise<Furnished> {
  const api = await startApi()
  const make = async (path: string, body: object): Promise<Reply["body"]> => {
    const reply = await api.call("POST", path, { body })
    assert.equal(reply.status, 201, `${path}: ${reply.text}`)
    return reply.body
  }
  const integration = await make("/v2/integrations/git", { name: mark, host: "github.com", token: mark })
  const deployment = await make("/v2/deployments", {
    name: "shop-bot",
    source: "github",
    source_config: { integration_id: integration.id, repo_url: `https://github.com/acme/${mark}` },
    source_revision_config: { repo_ref: "main", langgraph_config_path: `${mark}.json` },
    secrets: [{ name: "MODEL_KEY", value: mark }],
  })
  const listener = await make("/v2/listeners", {
    compute_type: "k8s",
    compute_id: mark,
    compute_config: { k8s_namespaces: null },
  })
  await addPreview(api, integration.id, deployment.id)
  // Nothing happens that it would be told.
  await make("/v2/webhooks", { url: "https://93.184.216.34/hook", event_types: ["key.revoked"], description: mark })
  const member = await addMember(api)
  await make("/v2/invitations", { email: `${mark}@example.com`, role: "read" })
  const hostName = "agent.example.com"
  await api.call("POST", `/v2/deployments/${deployment.id}/host-names`, {
    body: { name: hostName },
    headers: { "x-api-key": api.orgKey, "x-tenant-id": api.workspaceId },
  })
  const document = (await api.call("GET", "/openapi.json")).body as Document
  return {
    api,
    routes: routesOf(document).filter(({ path }) => /^\/v[12]\//.test(path)),
    ids: {
      deployment_id: deployment.id,
      revision_id: deployment.latest_revision_id,
      integration_id: integration.id,
      listener_id: listener.id,
      name: "MODEL_KEY",
      host_name: hostName,
      ...member,
      ...(await idsInTables(api.db, api.workspaceId)),
    },
    [Symbol.asyncDispose]: () => api[Symbol.asyncDispose](),
  }
}

/** A person of the workspace who is signed in. */
async function addMember({ db, workspaceId }: TestApi): Promise<Ids> {
  const sha256 = createHash("sha256").update(mark).digest("hex")
  const ids = { person_id: randomUUID(), session_id: randomUUID() }
  await db.run(sql`
    insert into people (person_id, issuer, subject, email, name)
    values (${ids.person_id}, 'https://login.example.com', ${mark}, ${`member-${mark}@example.com`}, ${mark})`)
  await db.run(sql`
    insert into members (workspace_id, person_id, role, edge_sha256)
    values (${workspaceId}, ${ids.person_id}, 'read', ${sha256})`)
  await db.run(sql`
    insert into console_sessions (sha256, person_id, session_id, expires_at)
    values (${sha256}, ${ids.person_id}, ${ids.session_id}, now() + interval '1 day')`)
  return ids
}

/** Previews, with one of a fork's pull request that waits for its approval. */
async function addPreview(api: TestApi, integrationId: string, deploymentId: string): Promise<void> {
  const secret = `a secret, ${mark}`
  const secrets = [{ name: "MODEL_KEY", value: mark }]
  await api.call("PUT", `/v2/integrations/git/${integrationId}/webhook`, { body: { secrets: [secret] } })
  await api.call("PUT", `/v2/deployments/${deploymentId}/previews`, { body: { secrets } })
  const branch = (ref: string, sha: string, owner: string) => ({ ref, sha, repo: { full_name: `${owner}/${mark}` } })
  const body = {
    action: "opened",
    number: 7,
    pull_request: {
      title: mark,
      head: branch("feature", shaOf("1"), "stranger"),
      base: branch("main", shaOf("2"), "acme"),
    },
    repository: repositoryOf(`https://github.com/acme/${mark}`),
  }
  const { path, headers, text } = signed("github", { secret, event: "pull_request", body })
  const reply = await api.call("POST", path, { headers, text })
  assert.equal(reply.status, 202, reply.text)
}

/** A row of the workspace from each other table whose key is a path's parameter: `api_key_id`, `webhook_id` … */
async function idsInTables(db: Database, workspaceId: string): Promise<Ids> {
  const keys = await db.rows<{ table: string; column: string }>(sql`
    select c.table_name as "table", c.column_name as "column"
    from information_schema.columns c
    join information_schema.columns w on w.table_name = c.table_name and w.table_schema = c.table_schema
      and w.column_name = 'workspace_id'
    where c.table_schema = 'public' and c.column_name = regexp_replace(c.table_name, 's$', '') || '_id'
      and c.column_name <> 'workspace_id'`)
  const entries = await Promise.all(
    keys.map(async ({ table, column }) => {
      const row = await db.row<{ id: string }>(sql`
        select ${identifier(column)}::text as id from ${identifier(table)} where workspace_id = ${workspaceId} limit 1`)
      return row ? [[column, row.id] as const] : []
    }),
  )
  return Object.fromEntries(entries.flat())
}

/**
 * Every row of every table, as text. When a key was last used is no change, and neither is what somebody's own audit log
 * says that they did.
 * @param asker  the workspace whose audit log is left out
 */
export const dump = ({ db, other }: TestApi, asker = other.workspaceId): Promise<Record<string, string>> =>
  everyRow(
    db,
    (name) => sql`
      select (to_jsonb(t) - 'last_used_at')::text as it from ${identifier(name)} t
      where ${name} <> 'audit_log' or to_jsonb(t) ->> 'workspace_id' <> ${asker}`,
  )
