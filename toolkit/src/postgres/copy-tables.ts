/**
 * Copies all rows of a database into another one that has the same tables, through files that both servers can use: the embedded
 * programs include no `pg_dump`. Both servers run as the same user, and both connections are a superuser's.
 */
import { join } from "node:path"
import pg from "pg"
import { withClient } from "../db/with-client.js"
import { KnownError } from "../errors/errors.js"

/** The two databases do not have the same tables. */
export class TablesDiffer extends KnownError {
  readonly code = "tables_differ"
}

interface Table {
  readonly name: string
  /** Those that are stored; generated ones are computed again. */
  readonly columns: readonly string[]
}

interface Sequence {
  readonly name: string
  /** Null: it has given no number yet. */
  readonly last: string | null
}

export interface WrittenTables {
  readonly folder: string
  readonly tables: readonly Table[]
  readonly sequences: readonly Sequence[]
}

// What `migrate` keeps of the schema itself.
const ofMigrations = ["schema_migrations", "schema_functions"]

async function tablesOf(client: pg.Client): Promise<Table[]> {
  const { rows } = await client.query<Table>(
    `select c.relname as name, array_agg(a.attname::text order by a.attname) as columns
     from pg_class c join pg_attribute a on a.attrelid = c.oid
     where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' and c.relname <> all ($1)
       and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
     group by c.relname order by c.relname`,
    [ofMigrations],
  )
  return rows
}

/**
 * Writes every table of the schema `public` to a file of its own, all from one snapshot.
 * @param folder  the server's user may write there
 */
export function writeTables({ uri, folder }: { uri: string; folder: string }): Promise<WrittenTables> {
  return withClient(uri, async (client) => {
    await client.query("begin isolation level repeatable read read only")
    const tables = await tablesOf(client)
    const { rows: sequences } = await client.query<Sequence>(
      "select sequencename::text as name, last_value::text as last from pg_sequences where schemaname = 'public'",
    )
    for (const [index, table] of tables.entries()) {
      await client.query(`copy ${target(table)} to ${pg.escapeLiteral(join(folder, String(index)))}`)
    }
    await client.query("commit")
    return { folder, tables, sequences }
  })
}

/**
 * Replaces the rows of every table by what was written, in one transaction; triggers and foreign keys do not act on it.
 * @throws TablesDiffer  naming a table; nothing is changed
 */
export function readTables({ uri, written }: { uri: string; written: WrittenTables }): Promise<void> {
  return withClient(uri, async (client) => {
    await client.query("begin")
    assertSame(written.tables, await tablesOf(client))
    await client.query("set local session_replication_role = replica")
    const names = written.tables.map(({ name }) => pg.escapeIdentifier(name))
    if (names.length > 0) await client.query(`truncate ${names.join(", ")}`)
    for (const [index, table] of written.tables.entries()) {
      await client.query(`copy ${target(table)} from ${pg.escapeLiteral(join(written.folder, String(index)))}`)
    }
    for (const { name, last } of written.sequences) {
      if (last !== null) await client.query("select setval($1::regclass, $2)", [pg.escapeIdentifier(name), last])
    }
    await client.query("commit")
    await client.query("analyze")
  })
}

const target = ({ name, columns }: Table): string =>
  `${pg.escapeIdentifier(name)} (${columns.map((column) => pg.escapeIdentifier(column)).join(", ")})`

function assertSame(written: readonly Table[], present: readonly Table[]): void {
  const describe = (tables: readonly Table[]) => new Map(tables.map((table) => [table.name, target(table)]))
  const [one, other] = [describe(written), describe(present)]
  const name = [...one.keys(), ...other.keys()].find((it) => one.get(it) !== other.get(it))
  if (name !== undefined) {
    throw new TablesDiffer(`the table ${name} is not the same in both databases: they belong to different releases`)
  }
}
