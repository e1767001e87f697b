import assert from "node:assert/strict"
import { once } from "node:events"
import { connect, type Socket } from "node:net"
import { test } from "node:test"
import { sql } from "@superstep/toolkit/db/sql"
import { until } from "@superstep/toolkit/testing/until"
import { freshHttp, type TestHttp } from "../testing/test-http.js"
import { addRun, newThread } from "../testing/thread-streams.js"
import { Turns } from "./turns.js"

const burst = 20

/** A request for a run, as bytes; its metadata contains its number. */
function requestFor(threadId: string, n: number): { head: string; body: string } {
  // Bodies of different lengths, so that reading them takes different times.
  const input = { text: "x".repeat(n % 3 === 0 ? 50_000 : 10) }
  const body = JSON.stringify({ assistant_id: "agent", input, metadata: { n } })
  const head = `POST /threads/${threadId}/runs HTTP/1.1\r\nhost: test\r\ncontent-length: ${body.length}\r\n\r\n`
  return { head, body }
}

const bytesOf = ({ head, body }: { head: string; body: string }) => `${head}${body}`

async function openSocket({ url }: TestHttp): Promise<{ socket: Socket; replies: () => number }> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  let text = ""
  socket.on("data", (chunk) => {
    text += chunk
  })
  await once(socket, "connect")
  return { socket, replies: () => text.split("HTTP/1.1 200").length - 1 }
}

/** A socket that was used for a request before, like one of a pool. */
async function usedSocket(http: TestHttp) {
  const opened = await openSocket(http)
  opened.socket.write("GET /ok HTTP/1.1\r\nhost: test\r\n\r\n")
  await until(() => opened.replies() === 1, { what: "the socket has answered" })
  return opened
}

async function queued({ server: { db } }: TestHttp, threadId: string): Promise<number[]> {
  const rows = await db.rows<{ n: number }>(sql`
    select (metadata ->> 'n')::int as n from runs where thread_id = ${threadId} order by seq`)
  return rows.map(({ n }) => n)
}

const untilQueued = (http: TestHttp, threadId: string, count: number) =>
  until(async () => (await queued(http, threadId)).length === count, { what: `${count} runs are queued` })

const inOrder = Array.from({ length: burst }, (_, n) => n)

test("requests that arrive one after another over many connections are queued in that order", async () => {
  await using http = await freshHttp({ slots: 0 })
  const sockets = await Promise.all(inOrder.map(() => usedSocket(http)))

  for (let round = 0; round < 3; round++) {
    const threadId = await newThread(http)
    for (const [n, { socket }] of sockets.entries()) socket.write(bytesOf(requestFor(threadId, n)))
    await untilQueued(http, threadId, burst)

    assert.deepEqual(await queued(http, threadId), inOrder)
  }
  for (const { socket } of sockets) socket.destroy()
})

test("a request whose body arrives late keeps its place, and does not delay other threads", async () => {
  await using http = await freshHttp({ slots: 0 })
  const [threadId, other] = [await newThread(http), await newThread(http)]
  const [slow, quick] = [await openSocket(http), await openSocket(http)]
  const first = requestFor(threadId, 0)

  slow.socket.write(first.head)
  await until(() => http.server.turns.threads === 1, { what: "the first request has its turn" })
  quick.socket.write(bytesOf(requestFor(threadId, 1)))
  await addRun(http, other)
  slow.socket.write(first.body)
  await untilQueued(http, threadId, 2)

  assert.deepEqual(await queued(http, threadId), [0, 1])
  for (const { socket } of [slow, quick]) socket.destroy()
})

function taker(turns: Turns) {
  const order: string[] = []
  const take = (name: string, threadId = "t") => {
    const turn = turns.take(threadId)
    const come = () => turn.come().then(() => order.push(name))
    return { come, end: () => turn.end() }
  }
  return { order, take }
}

test("a failed request gives up its turn, and later ones still wait for earlier ones", async () => {
  const { order, take } = taker(new Turns({ maxWaitMs: 60_000 }))
  const [one, two, three] = [take("one"), take("two"), take("three")]

  two.end()
  const third = three.come()
  await one.come()
  one.end()
  await third

  assert.deepEqual(order, ["one", "three"])
})

test("a request that is slow for too long loses its place, and delays only one other request", async () => {
  const { order, take } = taker(new Turns({ maxWaitMs: 1 }))
  const [slow, two, three] = [take("slow"), take("two"), take("three")]

  await two.come()
  two.end()
  await three.come()
  three.end()
  await slow.come()
  slow.end()

  assert.deepEqual(order, ["two", "three", "slow"])
})
