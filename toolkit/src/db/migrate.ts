/**
 * Numbered, forward-only migrations: `000001_create_runs.sql` and on, each in one transaction under a lock. After them the
 * folder `functions`, if there is one: the current SQL functions, applied together when their text is new to the database.
 */
import { createHash } from "node:crypto"
import { readdir, readFile } from "node:fs/promises"
import { join } from "node:path"
import type pg from "pg"
import { KnownError } from "../errors/errors.js"
import { ifCode } from "../errors/if-code.js"
import type { Log } from "../log/log.js"
import { withClient } from "./with-client.js"

/** A newer release has changed the database in a way that this one cannot read. */
export class SchemaTooNew extends KnownError {
  readonly code = "schema_too_new"
}

/** One of this release's migrations failed on this database; those before it are applied. */
export class MigrationFailed extends KnownError {
  readonly code = "migration_failed"
}

// Any constant of our own: processes that migrate one database at the same time take turns.
const migrationLock = 7_283_114

/**
 * Brings a database to this release's schema. Two processes may do so at once: one waits for the other.
 * @param folder  contains the `.sql` files; a file with a line that starts with `-- breaking` may not be ahead of a release.
 *                Its sub-folder `functions` contains only `create or replace function` statements
 * @returns       the names of the migrations applied now
 * @throws SchemaTooNew     when a breaking migration is applied that this release does not know
 * @throws MigrationFailed  naming the first that fails
 */
export async function migrate({ uri, folder, log }: { uri: string; folder: string; log: Log }): Promise<string[]> {
  const files = await migrationFiles(folder)
  return withClient(uri, async (client) => {
    // The end of the session frees the lock, whatever happens.
    await client.query("select pg_advisory_lock($1)", [migrationLock])
    const begin = performance.now()
    await client.query(`create table if not exists schema_migrations (
      name text primary key, breaking boolean not null, applied_at timestamptz not null default now())`)
    const { rows } = await client.query<{ name: string; breaking: boolean }>(
      "select name, breaking from schema_migrations",
    )
    const unknown = rows.find(({ name, breaking }) => breaking && !files.includes(name))
    if (unknown) {
      throw new SchemaTooNew(
        `the database has the migration ${unknown.name}, which this release does not have: run a newer release`,
      )
    }
    const applied = new Set(rows.map(({ name }) => name))
    const pending = files.filter((name) => !applied.has(name))
    for (const name of pending) await apply(client, folder, name, log)
    const hasNewFunctions = await applyFunctions(client, join(folder, "functions"), log)
    if (pending.length > 0 || hasNewFunctions) {
      log.info({ migrations: pending.length, duration_ms: Math.round(performance.now() - begin) }, "schema ready")
    }
    return pending
  })
}

async function migrationFiles(folder: string): Promise<string[]> {
  const files = (await readdir(folder)).filter((name) => name.endsWith(".sql")).sort()
  const misnamed = files.find((name) => !/^\d{6}_\w+\.sql$/.test(name))
  if (misnamed)
    throw new Error(`${join(folder, misnamed)}: the name of a migration must have the form 000001_create_runs.sql`)
  return files
}

async function apply(client: pg.Client, folder: string, name: string, log: Log): Promise<void> {
  const text = await readFile(join(folder, name), "utf8")
  const record = "insert into schema_migrations (name, breaking) values ($1, $2)"
  await inTransaction(client, `migration ${name}`, async () => {
    await client.query(text)
    await client.query(record, [name, /^-- breaking/m.test(text)])
  })
  log.debug({ migration: name }, "migration applied")
}

/**
 * A text is applied only once, ever: a restarted server of an older release does not restore its functions.
 * @returns  whether the text was new
 */
async function applyFunctions(client: pg.Client, folder: string, log: Log): Promise<boolean> {
  const files = ((await readdir(folder).catch(ifCode(["ENOENT"]))) ?? []).filter((name) => name.endsWith(".sql")).sort()
  if (files.length === 0) return false
  const text = (await Promise.all(files.map((name) => readFile(join(folder, name), "utf8")))).join("\n")
  const hash = createHash("sha256").update(text).digest("hex")
  await client.query(`create table if not exists schema_functions (
    hash text primary key, applied_at timestamptz not null default now())`)
  const { rowCount } = await client.query("select from schema_functions where hash = $1", [hash])
  if (rowCount) return false
  await inTransaction(client, "the SQL functions", async () => {
    // A function may call one that a later file creates.
    await client.query("set local check_function_bodies = off")
    await client.query(text)
    await client.query("insert into schema_functions (hash) values ($1)", [hash])
  })
  log.debug({ hash }, "SQL functions applied")
  return true
}

async function inTransaction(client: pg.Client, what: string, work: () => Promise<void>): Promise<void> {
  try {
    await client.query("begin")
    await work()
    await client.query("commit")
  } catch (cause) {
    // The caller closes the session, which rolls back.
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new MigrationFailed(`${what} failed and changed nothing: ${reason}`, { cause })
  }
}
