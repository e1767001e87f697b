/** A database for histories of the queue, one after the other. */
import { ownTheTime } from "@superstep/toolkit/testing/simulation/simulated-database"
import { openSession, type Session } from "@superstep/toolkit/testing/simulation/simulated-session"
import { insertSystemAssistants } from "../../../assistants/queries.js"
import { serverDatabase } from "../../../testing/test-server.js"
import { recordRuns } from "./record.js"

export async function preparedDatabase(): Promise<AsyncDisposable & { readonly session: Session }> {
  const db = await serverDatabase()
  await insertSystemAssistants(db, ["agent"], {})
  await ownTheTime(db)
  await recordRuns(db)
  const session = await openSession(db.uri)
  const close = async () => {
    await session[Symbol.asyncDispose]()
    await db[Symbol.asyncDispose]()
  }
  return { session, [Symbol.asyncDispose]: close }
}
