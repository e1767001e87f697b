/**
 * A client that does not read, or reads slowly, loses nothing, holds hardly any of the server's memory, and delays its run
 * for some seconds at most (events/publisher.ts, B6 and B7).
 */
import assert from "node:assert/strict"
import { describe, test } from "node:test"
import { until } from "@superstep/toolkit/testing/until"
import { type AgentServerProcess, startServerWithDatabase } from "../testing/agent-servers.js"
import { EventReader } from "../testing/event-reader.js"
import { forgetPeak, hasProc, peakBytes, residentBytes } from "../testing/process-memory.js"

const megabyte = 1024 * 1024
const eventBytes = 64 * 1024
const events = 3200
const floodBytes = events * eventBytes
// What waits for a client and what it reads of the log is 2 MB; copies that wait to be collected come on top, 35 to 116 MB on different
// machines. The flood is 200 MB, so a server that keeps it cannot pass.
const maxGrowth = 150 * megabyte

const floodOf = (count: number) => ({
  assistant_id: "flood",
  input: { events: count, eventBytes },
  stream_mode: "custom",
})
const flood = floodOf(events)

/** Counts what it reads, since a flood is too large to keep. */
function counter() {
  const seen: number[] = []
  const counts = { custom: 0, end: "", isRising: true, seen }
  const onEvent = ({ id, event, data }: { id: number; event: string; data: string }) => {
    counts.isRising &&= id > (seen.at(-1) ?? -1)
    seen.push(id)
    if (event === "custom") counts.custom++
    if (event === "end") counts.end = data
  }
  return { counts, onEvent }
}

const skip = !hasProc && "memory is read from /proc"

/**
 * Reads a little, which grows the heap to its usual size, so that what comes after shows. The peak counts: the kernel may have
 * taken pages of a process that only waits, and they come back.
 */
async function warmUp(server: AgentServerProcess): Promise<number> {
  const { counts, onEvent } = counter()
  const reader = await EventReader.open(server, { path: "/runs/stream", body: floodOf(200), onEvent })
  await reader.over
  assert.equal(counts.custom, 200)
  const peak = peakBytes(server.pid)
  forgetPeak(server.pid)
  return peak
}

// Each has a server of its own and mostly waits for the flood.
describe("slow readers", { concurrency: true, skip }, () => {
  test("a client that does not read loses nothing, while the run and all other clients go on", async (t) => {
    await using server = await startServerWithDatabase()
    const before = await warmUp(server)
    const { thread_id } = await server.client.threads.create()
    const slept = counter()

    const path = `/threads/${thread_id}/runs/stream`
    const sleeper = await EventReader.open(server, { path, body: flood, paused: true, onEvent: slept.onEvent })
    const joinPath = `${sleeper.location}/stream`
    const readers = [counter(), counter()]
    const joined = await Promise.all(
      readers.map(({ onEvent }) => EventReader.open(server, { path: joinPath, onEvent })),
    )
    const ends = await Promise.all(joined.map(({ over }) => over))
    const peak = peakBytes(server.pid)
    sleeper.resume()
    const fate = await sleeper.over

    t.diagnostic(`${floodBytes / megabyte} MB: memory ${mb(before)} before, ${mb(peak)} at the peak`)
    assert.deepEqual(ends, ["ended", "ended"])
    for (const { counts } of readers) {
      assert.equal(counts.isRising, true)
      assert.match(counts.end, /"success"/)
      // They came a moment after the run began: what they have is the rest of it, whole.
      assert.equal(counts.custom, events - (counts.seen[0] ?? 0) + 1)
    }
    assert.equal(fate, "ended")
    assert.deepEqual(slept.counts.seen, idsOf(events))
    assert.ok(peak - before < maxGrowth, `the server grew by ${mb(peak - before)}`)
  })

  test("clients of a resumable run that do not read, or come back, read the log without hole or repeat", async (t) => {
    await using server = await startServerWithDatabase()
    const before = await warmUp(server)
    const { thread_id } = await server.client.threads.create()
    const { counts, onEvent } = counter()

    const body = { ...floodOf(events), stream_resumable: true }
    const path = `/threads/${thread_id}/runs/stream`
    const sleeper = await EventReader.open(server, { path, body, onEvent, paused: true })
    const isOver = async () => (await server.status()).running_runs === 0
    await until(isOver, { what: "the run is over", timeoutMs: 120_000 })
    const whileItRan = peakBytes(server.pid)
    sleeper.resume()
    const fate = await sleeper.over
    forgetPeak(server.pid)
    const afterwards = residentBytes(server.pid)
    // One more reads everything again, and takes its time: it keeps its place in the log.
    const joinPath = `${sleeper.location}/stream`
    const again = counter()
    const slow = await EventReader.open(server, {
      path: joinPath,
      lastEventId: -1,
      onEvent: again.onEvent,
      paused: true,
    })
    const other = counter()
    const quick = await EventReader.open(server, { path: joinPath, lastEventId: -1, onEvent: other.onEvent })
    await quick.over
    slow.resume()
    await slow.over
    const peak = peakBytes(server.pid)

    t.diagnostic(`resumable: memory ${mb(before)} before, ${mb(whileItRan)} at the peak`)
    t.diagnostic(`read again: memory ${mb(afterwards)} before, ${mb(peak)} at the peak`)
    assert.equal(fate, "ended")
    for (const { seen } of [counts, again.counts, other.counts]) assert.deepEqual(seen, idsOf(events))
    // Reading the past again takes no more than the run did, give or take; what lies between is when memory is collected.
    const most = Math.max(whileItRan, afterwards)
    // Two read at once here, so twice what one may take (measured: up to 72 MB); the log that it may not keep is 200 MB.
    assert.ok(peak - most < maxGrowth, `the server grew by ${mb(peak - most)}`)
  })
})

/** Those of a whole run: `metadata`, its events, `end`. */
const idsOf = (count: number): number[] => Array.from({ length: count + 2 }, (_, id) => id)

const mb = (bytes: number): string => `${Math.round(bytes / megabyte)} MB`
