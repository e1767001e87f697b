import assert from "node:assert/strict"
import { execFile } from "node:child_process"
import { existsSync } from "node:fs"
import { mkdir, writeFile } from "node:fs/promises"
import { dirname, join } from "node:path"
import { test } from "node:test"
import { promisify } from "node:util"
import { openDatabase } from "../db/database.js"
import { sql } from "../db/sql.js"
import { freshDatabase } from "./fresh-database.js"
import { temporaryFolder } from "./temporary-folder.js"
import { silent, testCluster } from "./test-cluster.js"

const notes = "create table notes (id int primary key)"

async function migrationsFolder(text: string): Promise<string> {
  const folder = join(temporaryFolder(), "migrations")
  await mkdir(folder)
  await writeFile(join(folder, "000001_create_notes.sql"), text)
  return folder
}

test("two tests get databases of their own with the same migrations applied", async () => {
  const migrations = await migrationsFolder(notes)

  await using first = await freshDatabase({ migrations })
  await using second = await freshDatabase({ migrations })
  await first.run(sql`insert into notes (id) values (1)`)

  assert.deepEqual(await first.rows(sql`select id from notes`), [{ id: 1 }])
  assert.deepEqual(await second.rows(sql`select id from notes`), [])
})

test("concurrently requested databases share one template", async () => {
  const migrations = await migrationsFolder(notes)

  const databases = await Promise.all([1, 2, 3, 4].map(() => freshDatabase({ migrations })))

  for (const db of databases) {
    assert.deepEqual(await db.rows(sql`select name from schema_migrations`), [{ name: "000001_create_notes.sql" }])
    await db.close()
  }
})

test("a changed migration makes a new template", async () => {
  const before = await migrationsFolder(notes)
  const after = await migrationsFolder("create table notes (id int primary key, body text)")
  await using _old = await freshDatabase({ migrations: before })

  await using db = await freshDatabase({ migrations: after })

  assert.deepEqual(await db.rows(sql`select body from notes`), [])
})

test("a broken migration is reported each time", async () => {
  const migrations = await migrationsFolder("create tabel notes")

  await assert.rejects(freshDatabase({ migrations }), /000001_create_notes.sql failed/)
  await assert.rejects(freshDatabase({ migrations }), /000001_create_notes.sql failed/)
})

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
