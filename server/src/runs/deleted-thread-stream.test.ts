/** What the streams of a thread do when it is deleted, also when another thread gets its id (T3 of ../events). */
import assert from "node:assert/strict"
import { test } from "node:test"
import { sql } from "@superstep/toolkit/db/sql"
import { until } from "@superstep/toolkit/testing/until"
import { freshHttp } from "../testing/test-http.js"
import { follow, newThread, say, untilEnds, withTwoServers } from "../testing/thread-streams.js"

test("a new thread with the id of a deleted one does not stream the old thread's events", async () => {
  await using http = await freshHttp()
  const threadId = await newThread(http)
  const before = await follow(http, threadId)
  const old = await say(http, threadId, "secret")
  await untilEnds(before, 1)
  await http.send("DELETE", `/threads/${threadId}`)
  await http.send("POST", "/threads", { thread_id: threadId })

  const streams = [await follow(http, threadId, "", "-"), await follow(http, threadId, "", `${old}:0`)]
  await say(http, threadId, "new")
  for (const stream of streams) await untilEnds(stream, 1)

  for (const stream of streams) assert.doesNotMatch(stream.text(), /secret/)
})

test("a late hint about a deleted thread does not end the streams of a new thread with its id", async () => {
  await using http = await freshHttp()
  const threadId = await newThread(http)
  await follow(http, threadId)
  await http.send("DELETE", `/threads/${threadId}`)
  await http.send("POST", "/threads", { thread_id: threadId })
  const stream = await follow(http, threadId)

  // Notifications come in order, so the server has had the hint before the test hears the one that follows it.
  let isHeard = false
  const subscription = await http.db.listen("test_heard", () => {
    isHeard = true
  })
  await http.db.run(sql`select pg_notify('thread_gone', ${threadId}), pg_notify('test_heard', '')`)
  await until(() => isHeard, { what: "the hint was heard" })
  await subscription.close()
  await say(http, threadId, "new")

  await untilEnds(stream, 1)
})

test("a client of a deleted thread is not a client of a new thread with its id, though no hint comes", async () => {
  await using http = await freshHttp()
  const threadId = await newThread(http)
  const old = await follow(http, threadId)
  await http.db.run(sql`delete from threads where thread_id = ${threadId}`)
  await http.send("POST", "/threads", { thread_id: threadId })

  const stream = await follow(http, threadId)
  await say(http, threadId, "new")
  await untilEnds(stream, 1)
  await old.ended

  assert.deepEqual(old.events(), [])
})

test("a deleted thread ends its streams at every server at once", async () => {
  await withTwoServers(async (one, two) => {
    const threadId = await newThread(one)
    const streams = [await follow(one, threadId), await follow(two, threadId)]

    await one.send("DELETE", `/threads/${threadId}`)

    for (const stream of streams) await stream.ended
  })
})
