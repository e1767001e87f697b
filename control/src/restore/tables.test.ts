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
  const rows = [
    ["old", { role: "pinned", status: "DEPLOYED", pinned_since: "2026-01-01", pinned_threads: 2 }],
    ["serving", { role: "serving", status: "DEPLOYED" }],
    ["canary", { role: "canary", status: "DEPLOYED", weight: 10 }],
    ["standby", { role: "standby", status: "DEPLOYED" }],
    ["next", { role: "starting", status: "DEPLOYING", stage: "deploy", lease_owner: "x", updated_at: "now" }],
  ] as const
  const saved = {
    deployments: [{ deployment_id: "d", workspace_id: "w", number: 3, name: "chat", desired_run_state: "running" }],
    revisions: rows.map(([revision_id, more]) => ({ revision_id, stage: null, ...more })),
    units: rows.map(([revision_id]) => ({ revision_id, is_ready: true, crashes: 2 })),
    ...{ secrets: [], artifacts: [], uploads: [], watched_branches: [], preview_settings: [], preview_secrets: [] },
  }
  const target = { workspaceId: "v", name: "chat-2", routeName: "chat-2", number: 9, databasePasswordSealed: "s" }

  const { deployments, revisions, units } = restoredRows(saved, target)

  const moved = { workspace_id: "v", number: 9, name: "chat-2", route_name: "chat-2", database_password_sealed: "s" }
  assert.deepEqual(deployments, [{ deployment_id: "d", ...moved, desired_run_state: "paused" }])
  assert.deepEqual(
    revisions.map(({ role, stage, status, pinned_threads }) => [role, stage, status, pinned_threads ?? null]),
    [
      ["pinned", null, "DEPLOYED", 2],
      ["serving", null, "DEPLOYED", null],
      ["canary", null, "DEPLOYED", null],
      [null, null, "DEPLOYED", 0],
      [null, null, "INTERRUPTED", 0],
    ],
  )
  assert.deepEqual(fieldsOf(units, "revision_id", "is_ready", "crashes"), [
    ["old", false, 0],
    ["serving", false, 0],
    ["canary", false, 0],
  ])
})
