/** The stream of a thread: its runs one after another, wherever they execute (agent-server API §5.14). */
import assert from "node:assert/strict"
import { test } from "node:test"
import { isDeepStrictEqual } from "node:util"
import type { Database } from "@superstep/toolkit/db/database"
import { type Sql, sql } from "@superstep/toolkit/db/sql"
import { DatabaseUnavailable } from "@superstep/toolkit/db/unavailable"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { until } from "@superstep/toolkit/testing/until"
import { AfterStatement } from "../testing/after-statement.js"
import { attemptOf } from "../testing/as-anyone.js"
import { freshHttp, type OpenStream } from "../testing/test-http.js"
import {
  addRun,
  executing,
  follow,
  names,
  newThread,
  say,
  untilEnds,
  withTwoServers,
} from "../testing/thread-streams.js"
import { openEvents } from "../thread-stream/testing/protocol-client.js"

test("a client gets one run after another, and the ends of runs do not end its stream", async () => {
  await using http = await freshHttp()
  const threadId = await newThread(http)
  const stream = await follow(http, threadId)

  const first = await say(http, threadId, "hé\nllo")
  await untilEnds(stream, 1)
  const second = await say(http, threadId, "two")
  await untilEnds(stream, 2)

  assert.equal(stream.headers.get("content-type"), "text/event-stream")
  const eventsOf = (run_id: string, word: string) => [
    ["metadata", { run_id, attempt: 1 }, `${run_id}:0`],
    ["values", { word }, `${run_id}:1`],
    ["end", { run_id, status: "success" }, `${run_id}:3`],
  ]
  assert.deepEqual(fieldsOf(stream.events(), "event", "data", "id"), [
    ...eventsOf(first, "hé\nllo"),
    ...eventsOf(second, "two"),
  ])
  stream.leave()
  await until(() => http.server.streams.threads.size === 0, { what: "the subscription is removed" })
})

test("a client of the newer protocol that comes after a run's end repeats no end to those of the older one", async () => {
  await using http = await freshHttp()
  const threadId = await newThread(http)
  const [first, second] = [await follow(http, threadId), await follow(http, threadId)]
  const runId = await addRun(http, threadId, { stream_resumable: true })
  ;(await attemptOf(http.server, runId)).done({ status: "error", error: { error: "TypeError", message: "no" } })
  await untilEnds(first, 1)
  const end = first.events().at(-1)?.id?.split(":").at(-1) ?? ""

  const newer = await openEvents(http, threadId)
  const failed = () => newer.events().some(({ data }) => JSON.stringify(data).includes('"event":"failed"'))
  await until(failed, { what: "the newer client has the end" })
  await say(http, threadId, "next")
  await untilEnds(second, 2)
  const rejoined = await follow(http, threadId, "", "-")
  await untilEnds(rejoined, 2)
  const ofRun = await http.stream("GET", `/threads/${threadId}/runs/${runId}/stream`, undefined, {
    "last-event-id": "0",
  })
  await ofRun.ended
  await (await http.stream("GET", `/threads/${threadId}/runs/${runId}/stream`, undefined, { "last-event-id": end }))
    .ended

  for (const stream of [second, rejoined]) {
    assert.deepEqual(names(stream), ["metadata", "error", "end", "metadata", "values", "end"])
    stream.leave()
  }
  assert.deepEqual(names(ofRun), ["error", "end"])
  newer.leave()
})

test("lifecycle has only starts and ends, state_update the state after each run, and modes can be combined", async () => {
  await using http = await freshHttp()
  const threadId = await newThread(http)
  const lifecycle = await follow(http, threadId, "?stream_mode=lifecycle")
  const states = await follow(http, threadId, "?stream_modes=state_update")
  const both = await follow(http, threadId, "?stream_mode=lifecycle&stream_mode=state_update")
  const all = await follow(http, threadId, "?stream_mode=run_modes,state_update")

  const run_id = await say(http, threadId, "hello")
  await untilEnds(all, 1)
  // Each stream is read independently, so a slower one may not have the end yet.
  const counts = () => [lifecycle, states, both].map((stream) => stream.events().length)
  await until(() => isDeepStrictEqual(counts(), [2, 1, 3]), { what: "all streams have all events" })

  const state = { values: { word: "hello" }, next: [], interrupts: [] }
  assert.deepEqual(names(lifecycle), ["metadata", "end"])
  assert.deepEqual(names(both), ["metadata", "state_update", "end"])
  assert.deepEqual(names(all), ["metadata", "values", "state_update", "end"])
  const update = ["state_update", { thread_id: threadId, run_id, state }]
  assert.deepEqual(fieldsOf(states.events(), "event", "data"), [update])
})

test("a client that rejoins at any server gets every event once", async () => {
  await withTwoServers(async (one, two) => {
    const threadId = await newThread(one)
    const whole = await follow(one, threadId)
    const broken = await follow(one, threadId)
    const isFollowed = () => two.server.streams.followed.isFollowed(threadId)
    await until(isFollowed, { what: "the other server knows of the client" })
    await say(one, threadId, "one")
    await untilEnds(broken, 1)
    broken.leave()

    await say(two, threadId, "two", one)
    await say(one, threadId, "three", two)
    await untilEnds(whole, 3)

    const events = whole.events()
    for (const [position, { id }] of events.entries()) {
      const again = await follow(two, threadId, "", id)
      await until(() => again.events().length >= events.length - position - 1, { what: "the remaining events" })
      assert.deepEqual(again.events(), events.slice(position + 1))
      again.leave()
    }
    const everything = await follow(two, threadId, "", "-")
    await untilEnds(everything, 3)
    assert.deepEqual(everything.events(), events)
  })
})

test("a run is logged for clients that follow its thread at another server, also before its server was notified of them", async () => {
  await using http = await freshHttp({ slots: 1 })
  const threadId = await newThread(http)
  // Follows the thread like another server, without the notification.
  const inAMinute = sql`now() + interval '1 minute'`
  await http.db.run(sql`insert into watched_threads (thread_id, until) values (${threadId}, ${inAMinute})`)

  const first = await addRun(http, threadId)
  const waiting = await addRun(http, threadId)
  for (const runId of [first, waiting]) (await executing(runId, http)).done({ values: "{}" })
  const stream = await follow(http, threadId, "", "-")
  await untilEnds(stream, 2)

  const seen = stream.events().map(({ event, id }) => `${event} of ${id?.split(":")[0]}`)
  assert.deepEqual(seen, [`metadata of ${first}`, `end of ${first}`, `metadata of ${waiting}`, `end of ${waiting}`])
})

test("a new attempt of a run continues in the same stream", async () => {
  await using http = await freshHttp()
  const threadId = await newThread(http)
  const stream = await follow(http, threadId)
  const runId = await addRun(http, threadId)
  const dying = await executing(runId, http)
  dying.emit("values", { word: "first" })
  // Events that a dying attempt has not logged by then are fenced off (R4).
  await until(() => names(stream).includes("values"), { what: "the client has the event" })

  dying.die(false)
  const again = await attemptOf(http.server, runId, 2)
  again.emit("values", { word: "second" })
  again.done()
  await untilEnds(stream, 1)

  assert.deepEqual(names(stream), ["metadata", "values", "metadata", "values", "end"])
  const everything = await follow(http, threadId, "", "-")
  await untilEnds(everything, 1)
  assert.deepEqual(everything.events(), stream.events())
})

test("a resumable run is in the log of its thread also without followers; other runs are not", async () => {
  await using http = await freshHttp()
  const threadId = await newThread(http)
  await say(http, threadId, "lost")
  const resumable = await addRun(http, threadId, { stream_resumable: true })
  const run = await executing(resumable, http)
  run.done()

  const stream = await follow(http, threadId, "", "-")
  await untilEnds(stream, 1)

  const ids = new Set(stream.events().map(({ id }) => id?.split(":")[0]))
  assert.deepEqual([...ids], [resumable])
})

test("an event id of another thread reveals none of that thread's events", async () => {
  await using http = await freshHttp()
  const [mine, other] = [await newThread(http), await newThread(http)]
  const others = await follow(http, other)
  await say(http, other, "secret")
  await untilEnds(others, 1)
  const id = others.events()[0]?.id

  const stream = await follow(http, mine, "", id)
  await say(http, mine, "own")
  await untilEnds(stream, 1)

  const values = stream.events().filter(({ event }) => event === "values")
  assert.deepEqual(fieldsOf(values, "data"), [{ word: "own" }])
})

test("ends of runs that never started are streamed, too: rolled back by a new run, cancelled, deleted", async () => {
  await withTwoServers(async (one, two) => {
    const threadId = await newThread(one)
    const stream = await follow(two, threadId)
    const delayed = { after_seconds: 3600 }
    const replaced = await addRun(one, threadId, delayed)
    const next = await addRun(one, threadId, { ...delayed, multitask_strategy: "rollback" })
    const deleted = await addRun(one, threadId, delayed)

    await one.send("POST", `/threads/${threadId}/runs/${next}/cancel?action=rollback&wait=1`)
    await one.send("DELETE", `/threads/${threadId}/runs/${deleted}?force=true`)
    await untilEnds(stream, 3)

    const ends = [replaced, next, deleted].map((run_id) => ["end", { run_id, status: "rollback" }])
    assert.deepEqual(fieldsOf(stream.events(), "event", "data"), ends)
  })
})

test("a client whose stream could not begin, since the database was away, is not a client any more", async () => {
  let isAway = false
  const away = (db: Database): Database => ({
    ...db,
    rows: async <Row extends object>(statement: Sql) => {
      // The last statement before the stream begins: it looks for an end that is missing in the log.
      if (isAway && /not in \('pending', 'running'\)/.test(statement.render().text)) {
        throw new DatabaseUnavailable("away", 1000)
      }
      return db.rows<Row>(statement)
    },
  })
  await using http = await freshHttp({ wrapDb: away })
  const threadId = await newThread(http)

  isAway = true
  const fromNow = await follow(http, threadId)
  const fromTheStart = await follow(http, threadId, "", "-")

  assert.deepEqual([fromNow.status, fromTheStart.status], [503, 503])
  assert.equal(http.server.streams.threads.size, 0)
})

// When a thread is deleted, also when another thread gets its id (T3 of ../events).
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

test("a slow renewal that did not find a deleted thread does not end the streams of a new thread with its id", async () => {
  const meanwhile = new AfterStatement()
  await using http = await freshHttp({ wrapDb: meanwhile.database })
  const threadId = await newThread(http)
  const old = await follow(http, threadId)
  await http.db.run(sql`delete from threads where thread_id = ${threadId}`)

  let stream: OpenStream | undefined
  meanwhile.after(/insert into watched_threads/, async () => {
    await http.send("POST", "/threads", { thread_id: threadId })
    stream = await follow(http, threadId)
  })
  await http.server.streams.followed.endIfDeleted(threadId)
  await old.ended
  await say(http, threadId, "new")

  assert.ok(stream)
  await untilEnds(stream, 1)
})

test("a deleted thread ends its streams at every server at once", async () => {
  await withTwoServers(async (one, two) => {
    const threadId = await newThread(one)
    const streams = [await follow(one, threadId), await follow(two, threadId)]

    await one.send("DELETE", `/threads/${threadId}`)

    for (const stream of streams) await stream.ended
  })
})
