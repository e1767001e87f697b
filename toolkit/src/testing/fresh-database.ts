/** A database of its own for each test, on a real Postgres, migrated by copying a template. */
import { createHash, randomBytes } from "node:crypto"
import { readdir, readFile } from "node:fs/promises"
import { join } from "node:path"
import { type Database, openDatabase } from "../db/database.js"
import { changeUri } from "../db/database-uri.js"
import { migrate } from "../db/migrate.js"
import { createDatabase, dropDatabase } from "../db/provision.js"
import { identifier } from "../db/sql.js"
import { withClient } from "../db/with-client.js"
import { administer } from "./test-administrator.js"
import { silent, testCluster } from "./test-cluster.js"

/**
 * Creates a database that nobody else uses: `await using db = await freshDatabase({ migrations })`. Closing it drops it.
 * @param migrations  a folder of migrations; without it the database is empty
 */
export async function freshDatabase({ migrations }: { migrations?: string } = {}): Promise<Database> {
  const adminUri = await testCluster()
  const name = `test_${randomBytes(8).toString("hex")}`
  const template = migrations === undefined ? "template1" : await ensureTemplate(adminUri, migrations)
  // Copies files instead of logging each page: on a cluster that waits for no disk, a quarter of the processor time.
  await administer(`create database ${quoted(name)} template ${quoted(template)} strategy file_copy`)
  const db = openDatabase({ uri: changeUri(adminUri, { database: name }), log: silent })
  const close = async () => {
    await db.close()
    await administer(`drop database if exists ${quoted(name)} with (force)`)
  }
  return { ...db, close, [Symbol.asyncDispose]: close }
}

// One template per folder of migrations and process; the cluster, and so the templates, may be shared with other processes.
const templates = new Map<string, Promise<string>>()

function ensureTemplate(adminUri: string, folder: string): Promise<string> {
  let template = templates.get(folder)
  if (!template) {
    template = contentHash(folder).then((hash) => makeTemplate(adminUri, `template_${hash}`, folder))
    templates.set(folder, template)
  }
  return template
}

/**
 * Creates a template unless it exists. It gets its name when it is complete, so a killed test leaves no partial one.
 * @returns  its name
 */
async function makeTemplate(adminUri: string, name: string, folder: string): Promise<string> {
  await withClient(adminUri, async (admin) => {
    await admin.query("select pg_advisory_lock(hashtext($1))", [name])
    const { rowCount } = await admin.query("select 1 from pg_database where datname = $1", [name])
    if (rowCount) return
    const draft = `${name}_draft`
    await dropDatabase({ adminUri, name: draft })
    await migrate({ uri: await createDatabase({ adminUri, name: draft }), folder, log: silent })
    await admin.query(`alter database ${quoted(draft)} rename to ${quoted(name)}`)
  })
  return name
}

async function contentHash(folder: string): Promise<string> {
  const hash = createHash("sha256")
  for (const name of (await readdir(folder, { recursive: true })).sort()) {
    if (name.endsWith(".sql")) hash.update(name).update(await readFile(join(folder, name)))
  }
  return hash.digest("hex").slice(0, 24)
}

const quoted = (name: string): string => identifier(name).render().text
