/** Tests that follow a thread: its stream, and runs that say something on it. */
import assert from "node:assert/strict"
import type { Database } from "@superstep/toolkit/db/database"
import { until } from "@superstep/toolkit/testing/until"
import { type OpenStream, startTestHttp, type TestHttp } from "./test-http.js"
import { serverDatabase } from "./test-server.js"

export async function newThread(http: TestHttp, metadata: object = {}): Promise<string> {
  const { json } = await http.send("POST", "/threads", { metadata })
  return (json as { thread_id: string }).thread_id
}

export async function addRun(http: TestHttp, threadId: string, options: object = {}): Promise<string> {
  const { status, json, text } = await http.send("POST", `/threads/${threadId}/runs`, {
    assistant_id: "agent",
    ...options,
  })
  assert.equal(status, 200, text)
  return (json as { run_id: string }).run_id
}

export async function follow(http: TestHttp, threadId: string, query = "", lastEventId?: string): Promise<OpenStream> {
  const headers: Record<string, string> = lastEventId === undefined ? {} : { "last-event-id": lastEventId }
  const stream = await http.stream("GET", `/threads/${threadId}/stream${query}`, undefined, headers)
  // A stopping server breaks the stream, so that its client reconnects. That error must not hide why a test failed.
  stream.ended.catch(() => undefined)
  return stream
}

/** The run that a worker has started as the `n`th. */
export const startedRun = ({ server }: TestHttp, n = 0) =>
  until(() => server.workers.started[n], { what: "the run to start" })

/** The scripted run, once a worker of one of these servers has it. */
export const executing = (runId: string, ...servers: TestHttp[]) =>
  until(() => servers.map(({ server }) => server.workers.running.get(runId)).find((run) => run), {
    what: "the run executes",
  })

export const names = (stream: OpenStream) => stream.events().map(({ event }) => event)
export const untilEnds = (stream: OpenStream, count: number) =>
  until(() => names(stream).filter((name) => name === "end").length === count, { what: `${count} runs have ended` })

/** A complete run with one event. */
export async function say(http: TestHttp, threadId: string, word: string, ...others: TestHttp[]): Promise<string> {
  const runId = await addRun(http, threadId)
  const run = await executing(runId, http, ...others)
  run.emit("values", { word })
  run.done({ values: JSON.stringify({ word }) })
  return runId
}

export async function withTwoServers(
  work: (one: TestHttp, two: TestHttp, db: Database) => Promise<void>,
): Promise<void> {
  await using db = await serverDatabase()
  await using one = await startTestHttp(db)
  await using two = await startTestHttp(db)
  await work(one, two, db)
}
