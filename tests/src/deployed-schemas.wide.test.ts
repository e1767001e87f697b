/** Schemas that only the sources of a deployed agent contain are stored in its artifact, which its agent server notices. */
import assert from "node:assert/strict"
import { readdir, readFile } from "node:fs/promises"
import { join } from "node:path"
import { test } from "node:test"
import { sql } from "@superstep/toolkit/db/sql"
import { freshDatabase } from "@superstep/toolkit/testing/fresh-database"
import { until } from "@superstep/toolkit/testing/until"
import { clientOf, deploy } from "./testing/deployments.js"
import { startLocalPlatform } from "./testing/platform.js"
import { createRepository } from "./testing/repository.js"

// The control plane's due-schemas.wide.test.ts has the steps, with another program in place of the compiler.

test("a deployed agent's schemas are read from its sources in the background", async () => {
  await using db = await freshDatabase()
  await using platform = await startLocalPlatform({ env: { DATABASE_URI: db.uri } })
  const repository = await createRepository()
  const deployment = await deploy(platform, "typed", repository.url, [], "installed")
  const isDue = async () =>
    (await db.row<{ due: boolean }>(sql`select schemas_due_at is not null as due from artifacts`))?.due
  assert.equal(await isDue(), true)

  await db.run(sql`update artifacts set schemas_due_at = now()`)
  await until(async () => (await isDue()) === false, { what: "the schemas are stored", timeoutMs: 120_000 })
  const { assistants } = clientOf(platform, deployment)
  const [chat] = await assistants.search({ graphId: "chat" })
  const schemas = await assistants.getSchemas(chat?.assistant_id ?? "")

  assert.ok("messages" in Object(schemas.input_schema?.properties))
  const [unit = ""] = await readdir(join(platform.home, "units"))
  const log = await readFile(join(platform.home, "units", unit, "out.log"), "utf8")
  assert.doesNotMatch(log, /the schemas of graphs? from/)
})
