import assert from "node:assert/strict"
import { test } from "node:test"
import { createLog } from "@superstep/toolkit/log/log"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { until } from "@superstep/toolkit/testing/until"
import { gate } from "../checkpoints/testing/claimed-runs.js"
import { Listening, SlowListening } from "../testing/test-server.js"
import { firstSeq, LastEvents } from "./event.js"
import type { LoggedEvent } from "./queries.js"
import { runKind } from "./topic.js"
import { Topics } from "./topics.js"

const runId = "r1"

/** Topics with a log that the test fills. */
function startTopics() {
  const logged: LoggedEvent[] = []
  const append = (...seqs: number[]) => {
    for (const seq of seqs) logged.push({ runId, seq, place: seq, event: "values", data: "{}" })
  }
  const source = {
    page: async (after: number) => ({ events: logged.filter(({ place }) => place > after), isLast: true }),
    lastPlace: async () => logged.at(-1)?.place ?? -1,
    isEndAt: async () => false,
    flushed: async () => undefined,
  }
  let isLive = false
  let isLogged = true
  const topics = new Topics({
    kind: runKind,
    log: createLog({ process: "test", level: "silent" }),
    source: () => source,
    isLive: () => isLive,
    isLogged: () => isLogged,
  })
  const setLogged = (is: boolean) => {
    isLogged = is
  }
  /** Like the publisher of an attempt: an event is published once it is in the log. */
  const publish = (seq: number) => {
    append(seq)
    topics.get(runId)?.publish({ runId, seq, place: seq, event: "values", data: Buffer.from("{}") })
  }
  const begin = () => {
    isLive = true
    topics.takeOver(runId, { hasLog: true })
  }
  return { topics, append, begin, publish, source, setLogged }
}

const ids = ({ events }: Listening) => events.map(({ id }) => Number(id))

test("an attempt that starts here follows all logged events of the previous one, also those that were not announced (B8)", async () => {
  const { topics, append, begin, publish } = startTopics()
  const [back, joined, plain] = [new Listening(), new Listening(), new Listening()]
  append(0, 1)
  await topics.replay(runId, back, { place: -1, last: LastEvents.unknown() })
  topics.subscribe(runId, joined)
  topics.subscribe(runId, plain, { lastSeen: 1 })

  // The server that executed the run died between the commit and its hint.
  append(2, 3)
  begin()
  publish(firstSeq(2))
  const haveBoth = (seq: number) => () => [back, joined].every((client) => ids(client).includes(seq))
  await until(haveBoth(firstSeq(2)), { what: "both clients have attempt 2" })
  publish(firstSeq(2) + 1)
  await until(haveBoth(firstSeq(2) + 1), { what: "both clients get the next event" })

  assert.deepEqual(ids(back), [0, 1, 2, 3, firstSeq(2), firstSeq(2) + 1])
  // It rejoined without asking for the log, and is notified of the gap as before.
  assert.deepEqual(fieldsOf(plain.events.slice(0, 2), "event"), ["metadata", "values"])
  // A client that gave no last event id does not get events from before it joined.
  assert.deepEqual(ids(joined), [2, 3, firstSeq(2), firstSeq(2) + 1])
})

test("a client that reads the last old events while an attempt starts here misses nothing (B9)", async () => {
  const { topics, append, begin, publish, source } = startTopics()
  const client = new Listening()
  append(0, 1)
  // The client reads the log before the previous server's last events are in it, and gets the page when the attempt has begun.
  let isAsked = false
  const delivered = gate()
  const page = source.page
  source.page = async (after) => {
    const read = await page(after)
    if (after === -1 && !isAsked) {
      isAsked = true
      await delivered.opened
    }
    return read
  }
  const replayed = topics.replay(runId, client, { place: -1, last: LastEvents.unknown() })
  await until(() => isAsked, { what: "the page was requested" })

  append(2, 3)
  begin()
  publish(firstSeq(2))
  delivered.open()
  await replayed
  await until(() => ids(client).includes(firstSeq(2)), { what: "the client has attempt 2" })

  assert.deepEqual(ids(client), [0, 1, 2, 3, firstSeq(2)])
})

test("a client whose log is deleted while it reads the last page gets the end of its run, and its topic is closed", async () => {
  const { topics, append, begin, source } = startTopics()
  const client = new Listening()
  append(0)
  begin()
  const [asked, delivered] = [gate(), gate()]
  source.page = async () => {
    asked.open()
    await delivered.opened
    return { events: [], isLast: true }
  }
  const replayed = topics.replay(runId, client, { place: -1, last: LastEvents.unknown() })
  await asked.opened

  topics.get(runId)?.publish({ runId, seq: 1, place: 1, event: "end", data: Buffer.from("{}") })
  topics.end(runId)
  delivered.open()
  const isLive = await replayed

  assert.deepEqual(fieldsOf(client.events, "event"), ["end"])
  assert.deepEqual([isLive, topics.size], [false, 0])
})

test("a client that was behind when its run got a log reads each event once, also those published at that moment (S1)", async () => {
  const { topics, publish, setLogged } = startTopics()
  const client = new SlowListening()
  setLogged(false)
  topics.subscribe(runId, client)
  client.stopReading()
  publish(0)
  await until(() => ids(client).length === 1, { what: "the first event" })

  setLogged(true)
  publish(1)
  topics.catchUp(runId)
  client.read()
  await until(() => ids(client).includes(1), { what: "the second event" })
  publish(2)
  await until(() => ids(client).includes(2), { what: "the third event" })

  assert.deepEqual(ids(client), [0, 1, 2])
})
