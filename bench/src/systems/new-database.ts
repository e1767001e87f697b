import { randomBytes } from "node:crypto"
import { createDatabase } from "@superstep/toolkit/db/provision"
import type { RunningPostgres } from "@superstep/toolkit/postgres/start-postgres"

/** Creates an empty database with a name of its own. @returns its URI */
export const newDatabase = (postgres: Pick<RunningPostgres, "superuserUri">): Promise<string> =>
  createDatabase({ adminUri: postgres.superuserUri, name: `bench_${randomBytes(4).toString("hex")}` })
