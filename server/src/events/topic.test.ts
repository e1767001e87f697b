import assert from "node:assert/strict"
import { test } from "node:test"
import { setImmediate as turn } from "node:timers/promises"
import { Listening, SlowListening } from "../testing/test-server.js"
import { firstSeq, LastEvents, lastSeq } from "./event.js"
import { type JoinedAt, runKind, Topic, threadKind } from "./topic.js"

const runId = "r1"

/** The topic of a run with one client. */
function startTopic(at: JoinedAt = {}) {
  const topic = new Topic(runKind)
  const client = new Listening()
  topic.add(client, at)
  return { topic, client }
}

const inRun = (seq: number, event: string) => ({ runId, seq, place: seq, event, data: Buffer.from("{}") })

const publish = async (topic: Topic, ...seqs: number[]) => {
  for (const seq of seqs) topic.publish(inRun(seq, seq === lastSeq ? "end" : "values"))
  await turn()
}

const missed = (attempt: number) => JSON.stringify({ run_id: runId, attempt, missed: true })
const told = ({ events }: Listening) =>
  events.map(({ id, event, data }) => (event === "metadata" ? `${id} ${JSON.stringify(data)}` : Number(id)))

test("a client gets every event once, in order, also when it is published twice (S1)", async () => {
  const { topic, client } = startTopic()

  await publish(topic, 4, 5, 5, 4, 6)

  assert.deepEqual(told(client), [4, 5, 6])
})

test("a client gets nothing that was published before it subscribed, also in the same tick (S3)", async () => {
  const { topic, client } = startTopic()
  const later = new Listening()

  topic.publish(inRun(4, "values"))
  topic.add(later)
  await publish(topic, 5)

  assert.deepEqual(told(client), [4, 5])
  assert.deepEqual(told(later), [5])
})

test("a client that rejoins is notified if it missed events (S5)", async () => {
  const [without, within, beyond] = [
    startTopic({ lastSeen: 4 }),
    startTopic({ lastSeen: 2 }),
    startTopic({ lastSeen: 4 }),
  ]

  await publish(without.topic, 5, 6)
  await publish(within.topic, 5, 6)
  await publish(beyond.topic, firstSeq(2), firstSeq(2) + 1)

  assert.deepEqual(told(without.client), [5, 6])
  assert.deepEqual(told(within.client), [`4 ${missed(1)}`, 5, 6])
  // It is unknown whether the first attempt sent more events after the fourth.
  assert.deepEqual(told(beyond.client), [`${firstSeq(2) - 1} ${missed(2)}`, firstSeq(2), firstSeq(2) + 1])
})

test("a connected client is notified of a gap, and a new attempt is not a gap (S5)", async () => {
  const { topic, client } = startTopic()

  await publish(topic, 3, 4, 7, firstSeq(2), firstSeq(3) + 5, lastSeq)

  assert.deepEqual(told(client), [
    3,
    4,
    `6 ${missed(1)}`,
    7,
    firstSeq(2),
    `${firstSeq(3) + 4} ${missed(3)}`,
    firstSeq(3) + 5,
    lastSeq,
  ])
})

test("a slow client is listed until it has caught up, and reads the log from its position (S6)", async () => {
  const slowness: string[][] = []
  const topic: Topic = new Topic(runKind, () => slowness.push(told(slow).map(String)))
  const [slow, quick] = [new SlowListening(), new Listening()]
  topic.add(slow)
  topic.add(quick)
  slow.stopReading()
  await publish(topic, 0)
  await publish(topic, 1)
  const named = [...topic.slow.keys()]

  const position = topic.readPast(slow)
  await publish(topic, 2, 3)

  assert.deepEqual(slowness, [["0"], ["0", "1"]])
  assert.deepEqual(named, [slow])
  assert.equal(topic.slow.size, 0)
  assert.equal(position.place, 1)
  assert.deepEqual(told(slow), [0, 1])
  assert.deepEqual(told(quick), [0, 1, 2, 3])
})

test("a client whose log was deleted while it read is notified, and gets the end (S5)", async () => {
  const { topic, client } = startTopic()
  await publish(topic, 0, 1)
  topic.readPast(client)
  topic.publish(inRun(9, "end"))
  topic.end()

  topic.hold(client)
  topic.release(client, { place: 1, last: LastEvents.upTo({ runId, seq: 1 }) })

  assert.deepEqual(told(client), [0, 1, `8 ${missed(1)}`, 9])
  assert.equal(client.hasEnded, true)
})

test("events of a thread are ordered by position; the late end of another run is not a gap (S5)", async () => {
  const topic = new Topic(threadKind)
  const client = new Listening()
  topic.add(client)
  const say = (place: number, of: string, seq: number) =>
    topic.publish({ runId: of, seq, place, event: seq === lastSeq ? "end" : "values", data: Buffer.from("{}") })

  say(10, "a", 0)
  say(12, "a", 1)
  say(12, "a", 1)
  say(13, "waiting", lastSeq)
  say(14, "a", 2)
  say(15, "b", 0)
  say(16, "a", 3)
  say(17, "b", 1)
  say(20, "c", 1)
  await turn()

  assert.deepEqual(
    client.events.map(({ id, event }) => `${id} ${event}`),
    [
      "a:0 values",
      "a:1 values",
      `waiting:${lastSeq} end`,
      "a:2 values",
      "b:0 values",
      "a:3 values",
      "b:1 values",
      "c:0 metadata",
      "c:1 values",
    ],
  )
  assert.equal(client.hasEnded, false)
})
