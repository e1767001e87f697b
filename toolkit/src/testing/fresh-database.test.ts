import assert from "node:assert/strict"
import { execFile } from "node:child_process"
import { existsSync } from "node:fs"
import { dirname } from "node:path"
import { test } from "node:test"
import { promisify } from "node:util"
import { openDatabase } from "../db/database.js"
import { sql } from "../db/sql.js"
import { freshDatabase } from "./fresh-database.js"
import { silent, testCluster } from "./test-cluster.js"

test("a closed database is dropped even if another session is connected to it", async () => {
  const db = await freshDatabase()
  await using other = openDatabase({ uri: db.uri, log: silent })
  await other.rows(sql`select 1`)

  await db.close()

  await using admin = openDatabase({ uri: await testCluster(), log: silent })
  const name = new URL(db.uri).pathname.slice(1)
  assert.deepEqual(await admin.rows(sql`select datname from pg_database where datname = ${name}`), [])
})

test("a process that fails with its database open leaves neither a Postgres nor its folder", async () => {
  const program = `
    const { freshDatabase } = await import(${JSON.stringify(new URL("./fresh-database.js", import.meta.url).href)})
    const db = await freshDatabase()
    console.log(new URL(db.uri).searchParams.get("host"))
    throw new Error("the test failed")`
  const { SUPERSTEP_TEST_DATABASE_URI: _, ...env } = process.env

  const run = promisify(execFile)(process.execPath, ["--input-type=module", "--eval", program], { env })
  const { stdout } = (await run.catch((error: unknown) => error)) as { stdout: string }

  const socketFolder = stdout.trim()
  assert.ok(socketFolder.length > 0)
  assert.equal(existsSync(dirname(socketFolder)), false)
})
