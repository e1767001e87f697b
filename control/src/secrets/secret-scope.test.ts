import assert from "node:assert/strict"
import { test } from "node:test"
import { sql } from "@superstep/toolkit/db/sql"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { exampleDeployment, startApi, type TestApi } from "../testing/api.js"
import { createApiKey } from "../workspaces/operations.js"
import type { Scope } from "../workspaces/workspace.js"

const keyWith = async ({ db, workspaceId }: TestApi, scopes: readonly Scope[]) => {
  const { clearKey } = await createApiKey(db, { workspaceId, name: scopes.join(), scopes })
  return { "x-api-key": clearKey }
}

/** Everything that a request could have changed. */
const stored = ({ db }: TestApi) =>
  db.rows(sql`
    select 'deployment' as kind, row_to_json(d)::text as text from deployments d
    union all select 'revision', row_to_json(r)::text from revisions r
    union all select 'secret', row_to_json(s)::text from secrets s
    union all select 'preview', row_to_json(p)::text from preview_settings p order by 1, 2`)

test("a body that changes secrets requires the scope secrets, on every route (S7)", async () => {
  await using api = await startApi()
  const { body: made } = await api.call("POST", "/v2/deployments", { body: exampleDeployment() })
  const path = `/v2/deployments/${made.id}`
  const given = [{ name: "A", value: "1" }]
  const bodies: [method: string, path: string, body: object][] = [
    ["POST", "/v2/deployments", exampleDeployment("second-bot")],
    ["PATCH", path, { display_name: "renamed", secrets: given }],
    ["PATCH", path, { display_name: "renamed", secrets: [{ name: "MODEL_KEY", value: null }] }],
    ["PATCH", path, { display_name: "renamed", secrets: [], secrets_mode: "replace" }],
    ["POST", `${path}/revisions?on_conflict=queue`, { secrets: given }],
    ["POST", `/v1/projects/${made.id}/revisions`, { env_vars: given }],
    ["PUT", `${path}/previews`, { is_enabled: true, secrets: [] }],
  ]
  const headers = await keyWith(api, ["deploy"])
  const earlier = await stored(api)

  for (const [method, address, body] of bodies) {
    const reply = await api.call(method, address, { body, headers })

    assert.equal(reply.status, 403, `${method} ${address}: ${reply.text}`)
    assert.equal(reply.body.code, "scope_missing")
    assert.match(reply.body.detail, /requires secrets$/)
  }
  assert.deepEqual(await stored(api), earlier)
  const both = await keyWith(api, ["deploy", "secrets"])
  const allowed = await api.call("PATCH", path, { body: { secrets: given }, headers: both })
  assert.equal(allowed.status, 200, allowed.text)
  assert.deepEqual(allowed.body.secrets, [{ name: "A", value: "********" }])
})

test("without secrets in the body the scope deploy is enough, and admin includes all (S7)", async () => {
  await using api = await startApi()
  const headers = await keyWith(api, ["deploy"])

  const made = await api.call("POST", "/v2/deployments", { body: { ...exampleDeployment(), secrets: [] }, headers })
  const path = `/v2/deployments/${made.body.id}`
  const patched = await api.call("PATCH", path, { body: { secrets: [], display_name: "x" }, headers })
  const asked = await api.call("POST", `${path}/revisions?on_conflict=queue`, { body: { secrets: [] }, headers })
  const previews = await api.call("PUT", `${path}/previews`, { body: { is_enabled: true }, headers })
  const all = await api.call("PATCH", path, { body: { secrets: [{ name: "A", value: "1" }] } })

  assert.deepEqual(fieldsOf([made, patched, asked, previews, all], "status"), [201, 200, 201, 200, 200])
})
