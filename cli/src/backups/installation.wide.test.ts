/** Scheduled backups of a real installation. */
import assert from "node:assert/strict"
import { existsSync, readdirSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { openDatabase } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import { startPostgres } from "@superstep/toolkit/postgres/start-postgres"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { silent } from "@superstep/toolkit/testing/test-cluster"
import { until } from "@superstep/toolkit/testing/until"
import { preparedFolder } from "../testing/prepared-folder.js"
import { interrupt, runCli, startUp } from "../testing/run-cli.js"

const schedule = { SUPERSTEP_BACKUP_SCHEDULE: "@yearly" }

test("a running installation makes a backup that is due, and a new one is restored from it", async () => {
  const cwd = await preparedFolder()
  const first = await startUp(cwd, schedule)
  await interrupt(first)
  const postgres = await startPostgres({ folder: join(cwd, ".superstep", "postgres"), log: silent })
  {
    await using db = openDatabase({ uri: postgres.uri("superstep"), log: silent })
    await db.run(sql`update backup_schedule set due_at = now() - interval '1 day'`)
  }
  await postgres.stop()

  const second = await startUp(cwd, schedule)
  const folder = join(cwd, ".superstep", "backups")
  const files = () => (existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith(".gz")) : [])
  await until(() => files().length > 0, { what: "the backup is made", timeoutMs: 60_000 }).catch((error: unknown) => {
    throw new Error(second.lines.join("\n"), { cause: error })
  })
  await interrupt(second)
  const elsewhere = temporaryFolder()
  const restored = await runCli(["restore", join(folder, files()[0] ?? "")], { cwd: elsewhere })

  assert.equal(restored.code, 0, restored.stderr)
  assert.ok(existsSync(join(elsewhere, ".superstep", "postgres")))
  assert.deepEqual(
    readdirSync(join(cwd, ".superstep")).filter((name) => name.startsWith("backing-up") || name === "postgres-backup"),
    [],
  )
})

test("a schedule that is malformed, or for a server of the user's own, is refused before anything starts", async () => {
  const cwd = temporaryFolder()

  const malformed = await runCli(["up"], { cwd, env: { SUPERSTEP_BACKUP_SCHEDULE: "daily" } })
  const elsewhere = await runCli(["up"], { cwd, env: { ...schedule, DATABASE_URI: "postgres://u:p@127.0.0.1:1/db" } })

  assert.deepEqual([malformed.code, elsewhere.code], [1, 1])
  assert.match(malformed.stderr, /SUPERSTEP_BACKUP_SCHEDULE: expected five fields/)
  assert.match(elsewhere.stderr, /unset SUPERSTEP_BACKUP_SCHEDULE/)
  assert.equal(existsSync(join(cwd, ".superstep")), false)
})
