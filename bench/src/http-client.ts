/** The load generator: raw `node:http` on kept-alive connections, so that it costs as little as it can itself. */
import { Agent, request as httpRequest, type IncomingMessage, type RequestOptions } from "node:http"
import { text } from "node:stream/consumers"
import { createEventReader, type StreamedEvent } from "./event-reader.js"

/** Where a system answers. */
export interface Target {
  readonly address: { readonly socketPath: string } | { readonly host: string; readonly port: number }
  /** What comes before every path, such as `/d/bench`. */
  readonly prefix: string
  readonly headers: Readonly<Record<string, string>>
}

/** A run's stream, with times in milliseconds since the request was begun. */
export interface StreamedRun {
  readonly events: readonly StreamedEvent[]
  /** Any event, which is `metadata`. */
  readonly firstEventMs: number
  /** The first one that the graph made. */
  readonly firstOutputMs: number
  readonly lastEventMs: number
}

export class BenchFailed extends Error {}

const agent = new Agent({ keepAlive: true })

export async function callJson(target: Target, method: string, path: string, body?: unknown): Promise<unknown> {
  const response = await send(target, method, path, body)
  const answer = await text(response)
  expectOk(response, answer, path)
  return JSON.parse(answer)
}

/** @throws BenchFailed  when the answer is no stream of events */
export async function streamRun(target: Target, path: string, body: unknown): Promise<StreamedRun> {
  const begin = performance.now()
  const response = await send(target, "POST", path, body)
  if (response.statusCode !== 200) expectOk(response, await text(response), path)
  const read = createEventReader()
  const events: StreamedEvent[] = []
  let [firstEventMs, firstOutputMs, lastEventMs] = [Number.NaN, Number.NaN, Number.NaN]
  for await (const bytes of response) {
    const came = read(bytes as Buffer)
    if (came.length === 0) continue
    const now = performance.now() - begin
    if (events.length === 0) firstEventMs = now
    if (Number.isNaN(firstOutputMs) && came.some(({ name }) => isOutput(name))) firstOutputMs = now
    lastEventMs = now
    events.push(...came)
  }
  return { events, firstEventMs, firstOutputMs, lastEventMs }
}

const isOutput = (name: string): boolean => name !== "metadata" && name !== "end"

function send(target: Target, method: string, path: string, body?: unknown): Promise<IncomingMessage> {
  const payload = body === undefined ? undefined : Buffer.from(JSON.stringify(body))
  const headers = {
    ...target.headers,
    ...(payload && { "content-type": "application/json", "content-length": payload.length }),
  }
  const options: RequestOptions = { ...target.address, agent, method, path: `${target.prefix}${path}`, headers }
  return new Promise((resolve, reject) => {
    const request = httpRequest(options, resolve)
    request.once("error", reject)
    request.end(payload)
  })
}

function expectOk({ statusCode = 0 }: IncomingMessage, answer: string, path: string): void {
  if (statusCode < 200 || statusCode > 299) throw new BenchFailed(`${path} answered ${statusCode}: ${answer}`)
}
