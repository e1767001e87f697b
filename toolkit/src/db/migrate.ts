/** Numbered, forward-only migrations: `000001_create_runs.sql` and on, each in one transaction under a lock. */
import { readdir, readFile } from "node:fs/promises"
import { join } from "node:path"
import type pg from "pg"
import { KnownError } from "../errors/errors.js"
import type { Log } from "../log/log.js"
import { withClient } from "./with-client.js"

/** The database was written by a newer release than this one, in a way that this one cannot read. */
export class SchemaTooNew extends KnownError {
  readonly code = "schema_too_new"
}

/** One of this release's migrations cannot be applied to this database; those before it are. */
export class MigrationFailed extends KnownError {
  readonly code = "migration_failed"
}

// Any constant of our own: two processes that migrate one database at once take turns.
const migrationLock = 7_283_114

/**
 * Brings a database to this release's schema. Two processes may do so at once: one waits for the other.
 * @param folder  holds the `.sql` files; a file with a line that begins with `-- breaking` may not be ahead of a release
 * @returns       the names of the migrations that were applied now
 * @throws SchemaTooNew     when a breaking migration is applied that this release does not know
 * @throws MigrationFailed  naming the first that cannot be applied
 */
export async function migrate({ uri, folder, log }: { uri: string; folder: string; log: Log }): Promise<string[]> {
  const files = await migrationFiles(folder)
  return withClient(uri, async (client) => {
    // The end of the session frees the lock, whatever happens.
    await client.query("select pg_advisory_lock($1)", [migrationLock])
    await client.query(`create table if not exists schema_migrations (
      name text primary key, breaking boolean not null, applied_at timestamptz not null default now())`)
    const { rows } = await client.query<{ name: string; breaking: boolean }>(
      "select name, breaking from schema_migrations",
    )
    const unknown = rows.find(({ name, breaking }) => breaking && !files.includes(name))
    if (unknown) {
      throw new SchemaTooNew(
        `the database has the migration ${unknown.name}, which this release does not know: run a newer release`,
      )
    }
    const applied = new Set(rows.map(({ name }) => name))
    const pending = files.filter((name) => !applied.has(name))
    for (const name of pending) await apply(client, folder, name, log)
    return pending
  })
}

async function migrationFiles(folder: string): Promise<string[]> {
  const files = (await readdir(folder)).filter((name) => name.endsWith(".sql")).sort()
  const misnamed = files.find((name) => !/^\d{6}_\w+\.sql$/.test(name))
  if (misnamed) throw new Error(`${join(folder, misnamed)}: a migration is named like 000001_create_runs.sql`)
  return files
}

async function apply(client: pg.Client, folder: string, name: string, log: Log): Promise<void> {
  const text = await readFile(join(folder, name), "utf8")
  try {
    await client.query("begin")
    await client.query(text)
    await client.query("insert into schema_migrations (name, breaking) values ($1, $2)", [
      name,
      /^-- breaking/m.test(text),
    ])
    await client.query("commit")
  } catch (cause) {
    // Who called ends the session, and that rolls back.
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new MigrationFailed(`migration ${name} failed and changed nothing: ${reason}`, { cause })
  }
  log.info({ migration: name }, "migration applied")
}
