import assert from "node:assert/strict"
import { chmodSync } from "node:fs"
import { test } from "node:test"
import { withClient } from "../db/with-client.js"
import { freshDatabase } from "../testing/fresh-database.js"
import { temporaryFolder } from "../testing/temporary-folder.js"
import { readTables, TablesDiffer, writeTables } from "./copy-tables.js"

const schema = `
  create table parents (parent_id bigint generated always as identity primary key, "Na me" text, data bytea,
    upper_name text generated always as (upper("Na me")) stored);
  create table children (child_id serial primary key, parent_id bigint not null references parents);
  create table schema_migrations (name text);`

const rowsOf = (uri: string, table: string) =>
  withClient(uri, async (client) => (await client.query(`select * from ${table} order by 1`)).rows)

const run = (uri: string, text: string) => withClient(uri, (client) => client.query(text))

/** Where the server's user, which may be another one, can write. */
function openFolder(): string {
  const folder = temporaryFolder()
  chmodSync(folder, 0o777)
  return folder
}

test("all rows are copied with their numbers, and what was there before is gone", async () => {
  await using from = await freshDatabase()
  await using to = await freshDatabase()
  for (const { uri } of [from, to]) await run(uri, schema)
  await run(
    from.uri,
    `insert into parents ("Na me", data) values (E'tab\\t, back\\\\slash and\\nline', '\\x00ff'), (null, null);
    insert into children (parent_id) values (2), (1); insert into schema_migrations values ('one')`,
  )
  await run(to.uri, `insert into parents ("Na me") values ('former'); insert into schema_migrations values ('two')`)

  const written = await writeTables({ uri: from.uri, folder: openFolder() })
  await readTables({ uri: to.uri, written })

  for (const table of ["parents", "children"]) {
    assert.deepEqual(await rowsOf(to.uri, table), await rowsOf(from.uri, table), table)
  }
  assert.deepEqual(await rowsOf(to.uri, "schema_migrations"), [{ name: "two" }])
  await run(to.uri, `insert into parents ("Na me") values ('next'); insert into children (parent_id) values (3)`)
  assert.deepEqual((await rowsOf(to.uri, "children")).at(-1), { child_id: 3, parent_id: "3" })
})

test("databases with different tables are refused, and nothing is changed", async () => {
  await using from = await freshDatabase()
  await using to = await freshDatabase()
  await run(from.uri, schema)
  await run(
    to.uri,
    `${schema} alter table children add column more text; insert into parents ("Na me") values ('kept')`,
  )

  const written = await writeTables({ uri: from.uri, folder: openFolder() })

  await assert.rejects(readTables({ uri: to.uri, written }), TablesDiffer)
  assert.equal((await rowsOf(to.uri, "parents")).length, 1)
})
