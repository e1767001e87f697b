import assert from "node:assert/strict"
import { test } from "node:test"
import { startSweep } from "@superstep/toolkit/db/sweeps"
import { createThread } from "../testing/creations.js"
import { startTestHttp, type TestHttp } from "../testing/test-http.js"
import { serverDatabase } from "../testing/test-server.js"
import { findTtl } from "../threads/queries.js"
import { defaultTtlOf, threadSweep } from "../threads/sweep.js"

const unitToken = "sesame"

const activate = ({ send }: TestHttp) =>
  send("POST", "/internal/activate", undefined, { "x-superstep-unit": unitToken })

/** The time to live of a new thread, in minutes. */
async function minutesOfNewThread({ server: { db } }: TestHttp): Promise<number | undefined> {
  const { thread_id } = await createThread(db)
  return (await findTtl(db, thread_id))?.ttl_minutes
}

test("a revision's default time to live applies from its activation on, not before", async () => {
  await using db = await serverDatabase()
  const ttls = { live: { default_ttl: 60 }, coming: { strategy: "delete", default_ttl: 1 } } as const
  const start = async (revisionId: "live" | "coming") => {
    const http = await startTestHttp(db, { unitToken, revisionId, defaultTtl: defaultTtlOf(ttls[revisionId]) })
    const { log } = http.server
    const stopSweeping = startSweep(threadSweep(db, ttls[revisionId], log), log)
    return { http, stopSweeping }
  }
  const live = await start("live")
  await using _live = live.http
  await activate(live.http)

  const coming = await start("coming")
  await using _coming = coming.http
  const before = await minutesOfNewThread(live.http)
  await activate(coming.http)
  const after = await minutesOfNewThread(live.http)
  await activate(live.http)
  const rolledBack = await minutesOfNewThread(coming.http)
  await Promise.all([live.stopSweeping(), coming.stopSweeping()])

  assert.deepEqual([before, after, rolledBack], [60, 1, 60])
})
