/** A watch of an API server whose answers a test gives one by one, so that each comes when the test says. `watches-in-cluster.test.ts` has a real server. */
import assert from "node:assert/strict"
import type { ServerResponse } from "node:http"
import { afterEach, beforeEach } from "node:test"
import { withoutOpenssl } from "@superstep/toolkit/testing/certificate"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { testUnless } from "@superstep/toolkit/testing/test-unless"
import { until } from "@superstep/toolkit/testing/until"
import { type Clock, realClock } from "@superstep/toolkit/time/clock"
import { httpsServerOfFile } from "../testing/https-server.js"
import { ClusterFailed, clusterAt } from "./cluster.js"
import type { Pod } from "./objects.js"
import { type WatchedObjects, watchedObjects } from "./watched-objects.js"

interface Asked {
  readonly query: URLSearchParams
  readonly response: ServerResponse
}

const test = testUnless(withoutOpenssl())
/** All requests; the first `answered` have their answer. */
let asked: Asked[] = []
let answered = 0
let isAway = false
const place = httpsServerOfFile((request, response) => {
  if (isAway) return void request.socket.destroy()
  asked.push({ query: new URL(request.url ?? "/", "https://server").searchParams, response })
})
let nowMs = 0
/** Of the reads and waits that have not ended. */
const limits = new Set<() => void>()
const clock: Clock = {
  now: () => nowMs,
  after: (ms, work) => {
    const cancel = realClock.after(ms, work)
    limits.add(work)
    return () => {
      limits.delete(work)
      cancel()
    }
  },
}
/** The time of all reads and waits is over. */
const reachLimits = () => {
  for (const end of limits) end()
}
let pods: WatchedObjects<Pod>

beforeEach(() => {
  asked = []
  answered = 0
  isAway = false
  limits.clear()
  // With connections of its own: the server has closed those of the test before.
  const cluster = clusterAt(place)
  pods = watchedObjects({ cluster, path: "/api/v1/namespaces/agents/pods", labelSelector: "owner=us", clock })
})
afterEach(async () => {
  await pods.close()
  place.server.closeAllConnections()
})

const next = async (): Promise<Asked> => {
  const request = await until(() => asked[answered], { what: "the server is asked" })
  answered++
  return request
}
const podOf = (name: string, version: number, uid = name): Pod => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, uid, resourceVersion: String(version) },
  spec: { containers: [] },
})
const json = { "content-type": "application/json" }

async function answerList(version: number, ...items: Pod[]): Promise<void> {
  const { query, response } = await next()
  assert.equal(query.get("watch"), null)
  assert.equal(query.get("labelSelector"), "owner=us")
  response.writeHead(200, json).end(JSON.stringify({ metadata: { resourceVersion: String(version) }, items }))
}

/** @returns  what sends events on a watch that goes on from a version */
async function answerWatch(from: number) {
  const { query, response } = await next()
  assert.deepEqual(
    [query.get("watch"), query.get("resourceVersion"), query.get("allowWatchBookmarks")],
    ["true", String(from), "true"],
  )
  response.writeHead(200, json).flushHeaders()
  return {
    send: (type: string, object: object) => void response.write(`${JSON.stringify({ type, object })}\n`),
    end: () => void response.end(),
    /** In the middle of an event. */
    cut: () => void response.write('{"type":"MODIF', () => response.destroy()),
  }
}

async function refuse(status: number, message: string): Promise<void> {
  const { response } = await next()
  response.writeHead(status, json).end(JSON.stringify({ kind: "Status", code: status, message }))
}

/** Answers the first read, with these pods in the list. */
async function opened(version: number, ...items: Pod[]) {
  const read = pods.list()
  await answerList(version, ...items)
  const watch = await answerWatch(version)
  await read
  // Long enough to count as one that lasts.
  nowMs += 1000
  return watch
}
const names = async () => (await pods.list()).map(({ metadata }) => metadata.name)
const untilVersion = (version: number) =>
  pods.until(
    ({ list }) => list().some(({ metadata }) => metadata.resourceVersion === String(version)) || undefined,
    10_000,
  )
const refusal = (words: RegExp, status?: number) => (error: unknown) =>
  error instanceof ClusterFailed && error.status === status && words.test(error.message)

/** Reads when the pause after a failure is over: all is listed again. @returns  the names in the list */
async function namesAgain(version: number, ...items: Pod[]): Promise<string[]> {
  const read = names()
  await answerList(version, ...items)
  await answerWatch(version)
  return read
}

const untilFailed = (words: RegExp, status?: number) =>
  until(() => names().then(() => false, refusal(words, status)), { what: "the watch has failed" })

test("reads and waits cost one list and one watch, however many there are (W3)", async () => {
  const watch = await opened(5, podOf("a", 3))
  const waits = [1, 2, 3].map(() => pods.until(({ find }) => find("b"), 10_000))
  for (let read = 0; read < 100; read++) assert.deepEqual(await names(), ["a"])
  const early = await pods.until(({ find }) => find("b"), 1)

  watch.send("ADDED", podOf("b", 6))

  assert.deepEqual(fieldsOf(fieldsOf((await Promise.all(waits)) as Pod[], "metadata"), "name"), ["b", "b", "b"])
  assert.equal(early, undefined)
  assert.equal((await pods.find("b"))?.metadata.resourceVersion, "6")
  assert.equal(asked.length, 2)
})

test("a watch that is cut goes on from its last event or bookmark, and nothing is listed again (W3)", async () => {
  let watch = await opened(5, podOf("a", 3))
  watch.send("MODIFIED", podOf("a", 7))
  await untilVersion(7)
  watch.cut()
  watch = await answerWatch(7)
  watch.send("BOOKMARK", { metadata: { resourceVersion: "20" } })
  watch.send("ADDED", podOf("b", 21))
  await untilVersion(21)
  watch.send("BOOKMARK", { metadata: { resourceVersion: "30" } })
  nowMs += 1000
  watch.end()

  watch = await answerWatch(30)

  assert.deepEqual(await names(), ["a", "b"])
})

for (const [how, refuseIt] of [
  ["before it begins", () => refuse(410, "too old resource version")],
  [
    "by an event",
    async () =>
      (await answerWatch(5)).send("ERROR", { kind: "Status", code: 410, message: "too old resource version" }),
  ],
] as const)
  test(`when the server no longer has the changes since then, and says so ${how}, all is listed again (W3)`, async () => {
    const watch = await opened(5, podOf("a", 3), podOf("b", 4))
    watch.cut()
    await refuseIt()

    await answerList(40, podOf("b", 4), podOf("c", 39))
    await answerWatch(40)

    assert.deepEqual(await names(), ["b", "c"])
  })

test("while the server is away nothing is known, waits end, and then all is listed again (W2)", async () => {
  const watch = await opened(5, podOf("a", 3))
  const wait = assert.rejects(
    pods.until(({ find }) => find("b"), 10_000),
    refusal(/does not answer/),
  )

  isAway = true
  watch.cut()
  await wait
  await assert.rejects(names(), refusal(/does not answer/))
  // A pause is over.
  nowMs += 250
  await assert.rejects(names(), refusal(/does not answer/))
  isAway = false
  await assert.rejects(names(), refusal(/does not answer/))
  assert.equal(asked.length, 2, "it is asked again before the pause is over, which has doubled")
  nowMs += 500

  assert.deepEqual(await namesAgain(3, podOf("c", 2)), ["c"])
})

test("a read that ends while a slow server opens the watch does not break it: the next one shows what there is (W3)", async () => {
  const read = assert.rejects(names(), refusal(/has not shown/))
  await answerList(5, podOf("a", 3))
  await until(() => asked[answered], { what: "the watch is being opened" })
  reachLimits()
  await read

  await answerWatch(5)

  assert.deepEqual(await names(), ["a"])
  assert.equal(asked.length, 2)
})

test("an open watch that does not show in time what was written is broken, and all is listed again (W1)", async () => {
  await opened(5)
  pods.wrote(podOf("b", 7).metadata)
  const read = assert.rejects(names(), refusal(/has not shown/))
  reachLimits()
  await read
  await untilFailed(/has not shown/)
  nowMs += 250

  assert.deepEqual(await namesAgain(7, podOf("b", 7)), ["b"])
})

test("a watch that ends at once is not opened again and again (W3)", async () => {
  const read = names()
  await answerList(5)
  const { end } = await answerWatch(5)
  await read
  end()
  await untilFailed(/at once/)

  for (let time = 0; time < 20; time++) await assert.rejects(names(), refusal(/at once/))

  assert.equal(asked.length, 2)
})

test("an object that takes the name of another one is that, and the end of the former does not remove it", async () => {
  const watch = await opened(5, podOf("a", 3, "first"))
  const gone = pods.until(({ find }) => (find("a") ? undefined : true), 10_000)
  watch.send("DELETED", podOf("a", 6, "first"))
  watch.send("ADDED", podOf("a", 7, "second"))
  await untilVersion(7)
  assert.equal(await gone, true, "a wait sees also a change that another one undoes at once")
  watch.send("DELETED", podOf("a", 8, "first"))
  watch.send("ADDED", podOf("b", 9))
  await untilVersion(9)

  assert.equal((await pods.find("a"))?.metadata.uid, "second")
})

test("a read waits until the watch shows what was written before it, and what was removed (W1)", async () => {
  const watch = await opened(5, podOf("a", 3))

  pods.wrote(podOf("b", 7).metadata)
  const afterWrite = names()
  watch.send("MODIFIED", podOf("a", 6))
  watch.send("ADDED", podOf("b", 7))
  const written = await afterWrite
  pods.removed(podOf("a", 6).metadata)
  pods.removed(podOf("b", 7).metadata)
  const afterRemoval = names()
  const wait = pods.until(({ list }) => list().length, 10_000)
  watch.send("DELETED", podOf("a", 8))
  const { metadata, ...rest } = podOf("b", 9)
  watch.send("MODIFIED", { ...rest, metadata: { ...metadata, deletionTimestamp: "2026-11-29T12:00:00Z" } })

  assert.deepEqual(written, ["a", "b"])
  assert.deepEqual(await afterRemoval, ["b"])
  assert.equal(await wait, 1)
})

test("a list that begins after a write shows it: an older version of the cluster stops no read (W1)", async () => {
  const watch = await opened(50)
  pods.wrote(podOf("b", 70).metadata)
  watch.send("ERROR", { kind: "Status", code: 500, message: "etcd was restored" })
  await untilFailed(/etcd was restored/, 500)
  nowMs += 250

  assert.deepEqual(await namesAgain(9, podOf("c", 8)), ["c"])
})

test("a refusal names the verb that the role lacks", async () => {
  const first = assert.rejects(
    names(),
    refusal(/pods is forbidden.*the verb "list" for pods \(docs\/kubernetes.md/, 403),
  )
  await refuse(403, "pods is forbidden")
  await first
  nowMs += 250
  const second = assert.rejects(names(), refusal(/cannot watch.*the verb "watch" for pods/, 403))
  await answerList(5)
  await refuse(403, "cannot watch")
  await second
})
