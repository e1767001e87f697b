/** Helpers for tests with servers of several revisions on one database. */

import type { Db } from "@superstep/toolkit/db/database"
import { sql } from "@superstep/toolkit/db/sql"
import { until } from "@superstep/toolkit/testing/until"
import { newRun } from "../runs/schema.js"
import { type ActivationRequest, activate } from "../serving/activation.js"
import { createRun, waitForEnd } from "./as-anyone.js"
import { serverDatabase, startTestServer, type TestServer } from "./test-server.js"

export const body = (fields: object = {}) => newRun.parse({ assistant_id: "agent", input: {}, ...fields })

export const activateOn = (server: TestServer, request: Partial<ActivationRequest> = {}) =>
  activate(
    { ...server, revisionId: server.claimer.revisionId, graphDefaults: {}, defaultTtl: undefined },
    { thread_pinning: "none", ...request },
  )

/** Servers of two revisions on one database. The first one is active. */
export async function startTwo(first: string, second: string) {
  const db = await serverDatabase()
  const servers = [
    await startTestServer(db, { revisionId: first }),
    await startTestServer(db, { revisionId: second }),
  ] as const
  await activateOn(servers[0])
  const dispose = async () => {
    for (const server of servers) await server[Symbol.asyncDispose]()
    await db.close()
  }
  return { db, servers, [Symbol.asyncDispose]: dispose }
}

export const canaryAt = (weight: number) => ({ canary: { revision_id: "canary", weight } })

/** @returns the server that executes a run */
export const executorOf = (servers: readonly TestServer[], runId: string): Promise<TestServer> =>
  until(() => servers.find(({ workers }) => workers.running.has(runId)), { what: `run ${runId} to start` })

/** Creates a run at a server and completes it. @returns the revision that executed it */
export async function execute(at: TestServer, servers: readonly TestServer[], threadId?: string, end: object = {}) {
  const { run_id: runId } = await createRun(at, { threadId, body: body() })
  const server = await executorOf(servers, runId)
  server.workers.running.get(runId)?.done(end)
  await waitForEnd(at, runId)
  return server.claimer.revisionId
}

export const pinOf = async (db: Db, threadId: string) =>
  (await db.row<{ pin: string | null }>(sql`select revision_id as pin from threads where thread_id = ${threadId}`))?.pin

export const interrupted = { status: "interrupted", interrupts: '{"t": [{"value": 1}]}' } as const
