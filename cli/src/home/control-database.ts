/** Gives a command the control plane's database, whether the installation runs or not. */
import { fileURLToPath } from "node:url"
import { type Database, openDatabase } from "@superstep/toolkit/db/database"
import { migrate } from "@superstep/toolkit/db/migrate"
import type { Config } from "../config.js"
import { startHomeDatabase } from "./database.js"
import type { Home } from "./home.js"
import { isOwned, takeOwnership } from "./owner.js"

/** The control plane's database in the embedded cluster. */
export const controlDatabaseName = "superstep"

const migrations = (): string =>
  fileURLToPath(new URL("../src/migrations", import.meta.resolve("@superstep/control/main")))

/**
 * Runs some work on the database. While an installation runs, its Postgres is used; otherwise one is started for the
 * moment, and nobody else can start on the folder meanwhile.
 * @param alone  for what must not happen while an installation runs: then it is refused
 * @throws AlreadyRunning  it is to be alone, and is not
 */
export async function withControlDatabase<T>(
  { home, config, command, alone = false }: { home: Home; config: Config; command: string; alone?: boolean },
  work: (db: Database) => Promise<T>,
): Promise<T> {
  if (!alone && (await isOwned(home))) return runOn(home, config, work)
  await using _ownership = await takeOwnership(home, command)
  return runOn(home, config, work)
}

async function runOn<T>(home: Home, config: Config, work: (db: Database) => Promise<T>): Promise<T> {
  const database = await startHomeDatabase({ home, config, name: controlDatabaseName })
  try {
    await migrate({ uri: database.uri, folder: migrations(), log: home.log })
    await using db = openDatabase({ uri: database.uri, poolSize: 2, log: home.log })
    return await work(db)
  } finally {
    if (database.isOurs) await database.stop()
  }
}
