/** The tools of a server with many assistants. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { sql } from "@superstep/toolkit/db/sql"
import { anyone } from "../auth/caller.js"
import { AfterStatement } from "../testing/after-statement.js"
import { freshServer } from "../testing/test-server.js"
import { findTools, type McpParts } from "./operations.js"

test("an assistant that is deleted while tools are found hides no other one", async () => {
  await using server = await freshServer({ slots: 0 })
  await server.db.run(sql`
    insert into assistants (assistant_id, graph_id, name, created_at)
    select gen_random_uuid(), 'agent', 'tool' || n, now() + make_interval(secs => n) from generate_series(1, 1002) n`)
  const between = new AfterStatement()
  const parts = { ...server, db: between.database(server.db) } as unknown as McpParts
  between.after(/from assistants where[\s\S]*order by/, () =>
    server.db.run(sql`delete from assistants where name in ('tool1', 'tool2')`),
  )

  const tools = await findTools(parts, anyone)

  assert.ok(between.isDone)
  assert.deepEqual([tools.has("tool1001"), tools.has("tool1002")], [true, true])
})
