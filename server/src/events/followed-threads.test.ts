/** Which threads are followed: at the creation of a run, and after an outage. */
import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { test } from "node:test"
import { sql } from "@superstep/toolkit/db/sql"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { until } from "@superstep/toolkit/testing/until"
import { beginRun } from "../runs/queries.js"
import { newRun } from "../testing/new-run.js"
import { freshHttp } from "../testing/test-http.js"
import { serverDatabase } from "../testing/test-server.js"
import { follow, newThread } from "../testing/thread-streams.js"
import { followThreads } from "./thread-queries.js"

const forMs = 60_000

test("a client that opens a thread's stream waits for a run that is being created, and the run not for the client", async () => {
  await using db = await serverDatabase()
  const threadId = randomUUID()
  await db.run(sql`insert into threads (thread_id) values (${threadId})`)
  let watching: ReturnType<typeof followThreads> = Promise.resolve([])

  const created = await db.transaction(async (tx) => {
    // Every creation of a run begins with this lock.
    await tx.run(sql`select from threads where thread_id = ${threadId} for update`)
    watching = followThreads(db, [threadId], { forMs, forProtocol: true })
    // If the run aborts, this ends too, and the test fails with the run's error.
    watching.catch(() => undefined)
    const waiting = sql`select from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock' and query like '%insert into watched_threads%'`
    await until(() => db.row(waiting), { what: "the client to wait for the thread" })
    // It holds no lock that the run needs; otherwise each would wait for the other.
    return beginRun(tx, { ...newRun(threadId), following: { forMs, firstEvents: [] } })
  })

  assert.equal(created.outcome, "created")
  assert.deepEqual(fieldsOf(await watching, "threadId"), [threadId])
})

test("after an outage in which renewals failed, the threads of clients are followed again as soon as the database is back", async () => {
  // Nothing is renewed otherwise while the test lasts.
  await using http = await freshHttp({ threadTtlMs: 3_600_000 })
  const threadId = await newThread(http)
  await follow(http, threadId)

  // As after an outage that lasted longer than a thread stays followed without a client.
  await http.db.run(sql`update watched_threads set until = now() - interval '1 second'`)
  await http.db.run(sql`select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and query ilike 'listen %'`)

  const followed = sql`select from watched_threads where thread_id = ${threadId} and until > now()`
  await until(() => http.db.row(followed), { what: "the thread is followed again" })
})
