/** Opens the control plane's database for a command, whether the installation runs or not. */
import { fileURLToPath } from "node:url"
import { type Database, openDatabase } from "@superstep/toolkit/db/database"
import { migrate } from "@superstep/toolkit/db/migrate"
import { createDatabase } from "@superstep/toolkit/db/provision"
import type { Config } from "../command-line/config.js"
import { withHomePostgres } from "./command-postgres.js"
import type { Home } from "./home.js"
import { isOwned, takeOwnership } from "./owner.js"

/** The control plane's database in the embedded cluster. */
export const controlDatabaseName = "superstep"

export const controlMigrations = (): string =>
  fileURLToPath(new URL("../src/migrations", import.meta.resolve("@superstep/control/main")))

/**
 * Runs `work` with the database. Uses the Postgres of a running installation; otherwise one is started temporarily, and
 * nobody else can start on the folder meanwhile.
 * @param alone  refuse while an installation runs
 * @throws AlreadyRunning  `alone` is set, and an installation runs
 */
export async function withControlDatabase<T>(
  { home, config, command, alone = false }: { home: Home; config: Config; command: string; alone?: boolean },
  work: (db: Database) => Promise<T>,
): Promise<T> {
  if (config.databaseUri) {
    await using _ownership = !alone && (await isOwned(home)) ? undefined : await takeOwnership(home, command)
    return await runOn(home, config.databaseUri.reveal(), work)
  }
  return await withHomePostgres({ home, command, alone }, async ({ superuserUri }) =>
    runOn(home, await createDatabase({ adminUri: superuserUri, name: controlDatabaseName }), work),
  )
}

async function runOn<T>(home: Home, uri: string, work: (db: Database) => Promise<T>): Promise<T> {
  await migrate({ uri, folder: controlMigrations(), log: home.log })
  await using db = openDatabase({ uri, poolSize: 2, log: home.log })
  return await work(db)
}
