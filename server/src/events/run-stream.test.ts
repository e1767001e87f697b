import assert from "node:assert/strict"
import { test } from "node:test"
import { setImmediate as turn } from "node:timers/promises"
import { Listening, SlowListening } from "../testing/test-server.js"
import { firstSeq, lastSeq } from "./event.js"
import { type JoinedAt, RunStream } from "./run-stream.js"

const runId = "r1"

/** A stream with one client. */
function startStream(at: JoinedAt = {}) {
  const stream = new RunStream(runId)
  const client = new Listening()
  stream.add(client, at)
  return { stream, client }
}

const publish = async (stream: RunStream, ...seqs: number[]) => {
  for (const seq of seqs) stream.publish({ seq, event: seq === lastSeq ? "end" : "values", data: Buffer.from("{}") })
  await turn()
}

const missed = (attempt: number) => JSON.stringify({ run_id: runId, attempt, missed: true })
const told = ({ events }: Listening) =>
  events.map(({ id, event, data }) => (event === "metadata" ? `${id} ${JSON.stringify(data)}` : Number(id)))

test("a client gets every event once, in order, though it is published twice (S1)", async () => {
  const { stream, client } = startStream()

  await publish(stream, 4, 5, 5, 4, 6)

  assert.deepEqual(told(client), [4, 5, 6])
})

test("a client that comes back is told whether it missed events (S5)", async () => {
  const [without, within, beyond] = [
    startStream({ lastSeen: 4 }),
    startStream({ lastSeen: 2 }),
    startStream({ lastSeen: 4 }),
  ]

  await publish(without.stream, 5, 6)
  await publish(within.stream, 5, 6)
  await publish(beyond.stream, firstSeq(2), firstSeq(2) + 1)

  assert.deepEqual(told(without.client), [5, 6])
  assert.deepEqual(told(within.client), [`4 ${missed(1)}`, 5, 6])
  // Whether the first attempt went on after the fourth event is not known.
  assert.deepEqual(told(beyond.client), [`${firstSeq(2) - 1} ${missed(2)}`, firstSeq(2), firstSeq(2) + 1])
})

test("a client that comes back to a run which is over is told that it may have missed events (S5)", async () => {
  const { stream, client } = startStream({ lastSeen: 4 })

  stream.endOne(client, { seq: lastSeq, event: "end", data: Buffer.from("{}") })

  assert.deepEqual(told(client), [`${lastSeq - 1} ${missed(1)}`, lastSeq])
  assert.equal(client.hasEnded, true)
})

test("a client that stayed is told of a hole, and the next attempt is none (S5)", async () => {
  const { stream, client } = startStream()

  await publish(stream, 3, 4, 7, firstSeq(2), firstSeq(3) + 5, lastSeq)

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

test("a client that is behind is named until it has read, and reads the log from where it was (S6)", async () => {
  const slowness: string[][] = []
  const stream: RunStream = new RunStream(runId, () => slowness.push(told(slow).map(String)))
  const [slow, quick] = [new SlowListening(), new Listening()]
  stream.add(slow)
  stream.add(quick)
  slow.stopReading()
  await publish(stream, 0)
  await publish(stream, 1)
  const named = [...stream.slow.keys()]

  const position = stream.readPast(slow)
  await publish(stream, 2, 3)

  assert.deepEqual(slowness, [["0"], ["0", "1"]])
  assert.deepEqual(named, [slow])
  assert.equal(stream.slow.size, 0)
  assert.equal(position, 1)
  assert.deepEqual(
    [told(slow), told(quick)],
    [
      [0, 1],
      [0, 1, 2, 3],
    ],
  )
})

test("a client whose log was forgotten while it read is told so, and gets the end (S5)", async () => {
  const { stream, client } = startStream()
  await publish(stream, 0, 1)
  stream.readPast(client)
  stream.publish({ seq: 9, event: "end", data: Buffer.from("{}") })
  stream.end()

  stream.hold(client)
  stream.release(client, 1)

  assert.deepEqual(told(client), [0, 1, `8 ${missed(1)}`, 9])
  assert.equal(client.hasEnded, true)
})
