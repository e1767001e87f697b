/**
 * One session that creates and drops the databases of a test process. A new session for each statement would cost as much
 * processor time as the copy of a template, and almost every test creates a database.
 */
import pg from "pg"
import { testCluster } from "./test-cluster.js"

let sessions: Promise<pg.Pool> | undefined

/** Executes a statement as the superuser of the tests' Postgres. */
export async function administer(statement: string): Promise<void> {
  sessions ??= openSessions()
  await (await sessions).query(statement)
}

async function openSessions(): Promise<pg.Pool> {
  // While it is idle, it does not keep the process alive.
  const options = { max: 1, idleTimeoutMillis: 0, allowExitOnIdle: true }
  const pool = new pg.Pool({ connectionString: await testCluster(), ...options })
  // The statement under way fails with this error; the next one gets a new session.
  pool.on("error", () => undefined)
  return pool
}
