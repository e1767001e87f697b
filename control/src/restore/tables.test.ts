import assert from "node:assert/strict"
import { test } from "node:test"
import { sql } from "@superstep/toolkit/db/sql"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { startApi } from "../testing/api.js"
import { leftOut, restoredRows, restoredTables } from "./tables.js"

test("every table about a deployment is restored, or left out for a reason: a new one needs a line in tables.ts", async () => {
  await using api = await startApi()
  const rows = await api.db.rows<{ name: string }>(sql`
    select distinct c.relname as name from pg_attribute a join pg_class c on c.oid = a.attrelid
    where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' and a.attnum > 0 and not a.attisdropped
      and a.attname in ('deployment_id', 'revision_id') and c.relname <> 'events'`)

  assert.deepEqual(rows.map(({ name }) => name).sort(), [...restoredTables, ...Object.keys(leftOut)].sort())
})

test("a restored deployment waits, its processes have never run, and what was under way has ended", () => {
  const revision = (revision_id: string, more: object) => ({ revision_id, role: null, stage: null, ...more })
  const saved = {
    deployments: [{ deployment_id: "d", workspace_id: "w", number: 3, name: "chat", desired_run_state: "running" }],
    revisions: [
      revision("old", { role: "pinned", status: "DEPLOYED", pinned_since: "2026-01-01", pinned_threads: 2 }),
      revision("serving", { role: "serving", status: "DEPLOYED" }),
      revision("canary", { role: "canary", status: "DEPLOYED", weight: 10 }),
      revision("standby", { role: "standby", status: "DEPLOYED" }),
      revision("next", { role: "starting", status: "DEPLOYING", stage: "deploy", lease_owner: "x", updated_at: "now" }),
    ],
    secrets: [],
    artifacts: [],
    uploads: [],
    units: ["old", "serving", "canary", "standby", "next"].map((revision_id) => ({
      revision_id,
      is_ready: true,
      crashes: 2,
    })),
    watched_branches: [],
    preview_settings: [],
    preview_secrets: [],
  }
  const target = { workspaceId: "v", name: "chat-2", routeName: "chat-2", number: 9, databasePasswordSealed: "s" }

  const rows = restoredRows(saved, target)

  assert.deepEqual(rows.deployments, [
    {
      deployment_id: "d",
      workspace_id: "v",
      number: 9,
      name: "chat-2",
      route_name: "chat-2",
      database_password_sealed: "s",
      desired_run_state: "paused",
    },
  ])
  assert.deepEqual(
    rows.revisions.map(({ role, stage, status, pinned_threads }) => [role, stage, status, pinned_threads ?? null]),
    [
      ["pinned", null, "DEPLOYED", 2],
      ["serving", null, "DEPLOYED", null],
      ["canary", null, "DEPLOYED", null],
      [null, null, "DEPLOYED", 0],
      [null, null, "INTERRUPTED", 0],
    ],
  )
  assert.deepEqual(fieldsOf(rows.units, "revision_id", "is_ready", "crashes"), [
    ["old", false, 0],
    ["serving", false, 0],
    ["canary", false, 0],
  ])
})
