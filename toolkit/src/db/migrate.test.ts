import assert from "node:assert/strict"
import { mkdir, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { test } from "node:test"
import { freshDatabase } from "../testing/fresh-database.js"
import { temporaryFolder } from "../testing/temporary-folder.js"
import { silent } from "../testing/test-cluster.js"
import type { Database } from "./database.js"
import { migrate, SchemaTooNew } from "./migrate.js"
import { sql } from "./sql.js"

async function migrations(files: Readonly<Record<string, string>>): Promise<string> {
  const folder = temporaryFolder()
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text)
  return folder
}

const bring = (db: Database, folder: string) => migrate({ uri: db.uri, folder, log: silent })

test("migrations are applied in order, once, also by processes that migrate at the same time", async () => {
  await using db = await freshDatabase()
  const folder = await migrations({
    "000002_add_body.sql": "alter table notes add body text",
    "000001_create_notes.sql": "create table notes (id int)",
  })

  const applied = await Promise.all([1, 2, 3].map(() => bring(db, folder)))

  assert.deepEqual(applied.flat(), ["000001_create_notes.sql", "000002_add_body.sql"])
  assert.deepEqual(await bring(db, folder), [])
  assert.deepEqual(await db.rows(sql`select id, body from notes`), [])
})

test("a failed migration changes nothing, and those before it stay", async () => {
  await using db = await freshDatabase()
  const folder = await migrations({
    "000001_create_notes.sql": "create table notes (id int)",
    "000002_break.sql": "create table half (id int); select 1 / 0",
  })

  await assert.rejects(bring(db, folder), /^MigrationFailed: migration 000002_break.sql failed and changed nothing: /)

  assert.deepEqual(await db.rows(sql`select name from schema_migrations`), [{ name: "000001_create_notes.sql" }])
  assert.deepEqual(await db.row(sql`select to_regclass('half')::text as half`), { half: null })
})

test("an older release runs on a newer schema unless a migration is breaking", async () => {
  await using db = await freshDatabase()
  const folder = await migrations({
    "000001_create_notes.sql": "create table notes (id int)",
    "000002_grow.sql": "create table more (id int)",
  })
  await bring(db, folder)
  await rm(join(folder, "000002_grow.sql"))

  assert.deepEqual(await bring(db, folder), [])
  await writeFile(join(folder, "000003_shrink.sql"), "-- notes are gone\n-- breaking\ndrop table notes")
  await bring(db, folder)
  await rm(join(folder, "000003_shrink.sql"))

  await assert.rejects(bring(db, folder), SchemaTooNew)
})

test("a file with an invalid migration name is an error", async () => {
  await using db = await freshDatabase()

  await assert.rejects(bring(db, await migrations({ "2-add-notes.sql": "select 1" })), /000001_create_runs\.sql/)
})

const answering = (number: number) =>
  `create or replace function answer() returns int language sql as 'select ${number}'`

/** The folder of migrations with these functions. */
async function withFunctions(texts: Readonly<Record<string, string>>, folder?: string): Promise<string> {
  const into = folder ?? (await migrations({}))
  await mkdir(join(into, "functions"), { recursive: true })
  for (const [name, text] of Object.entries(texts)) await writeFile(join(into, "functions", name), text)
  return into
}

const answerOf = async (db: Database) => (await db.row<{ answer: number }>(sql`select answer()`))?.answer

test("SQL functions are applied after the migrations, and again when their text changes, but not by an older release", async () => {
  await using db = await freshDatabase()
  const older = await withFunctions(
    { "notes.sql": answering(1) },
    await migrations({ "000001_create_notes.sql": "create table notes (id int)" }),
  )
  const newer = await withFunctions({ "notes.sql": answering(2) })

  const answers = []
  for (const folder of [older, newer, older]) {
    await bring(db, folder)
    answers.push(await answerOf(db))
  }
  await withFunctions({ "notes.sql": answering(3) }, newer)
  await bring(db, newer)

  assert.deepEqual([...answers, await answerOf(db)], [1, 2, 2, 3])
})

test("functions that cannot be applied change nothing", async () => {
  await using db = await freshDatabase()
  const broken = { "a.sql": `${answering(1)};`, "b.sql": "create or replace function broken(" }

  await assert.rejects(bring(db, await withFunctions(broken)), {
    name: "MigrationFailed",
    message: /^the SQL functions failed/,
  })

  assert.deepEqual(await db.rows(sql`select from pg_proc where proname = 'answer'`), [])
})
