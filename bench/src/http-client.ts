/** The load generator: raw `node:http` on kept-alive connections, so that it costs as little as it can itself. */
import { Agent, request as httpRequest, type IncomingMessage, type RequestOptions } from "node:http"
import { json, text } from "node:stream/consumers"
import { createEventReader, type StreamedEvent } from "./event-reader.js"

/** Where a system answers. */
export interface Target {
  readonly address: { readonly socketPath: string } | { readonly host: string; readonly port: number }
  /** What comes before every path, such as `/d/bench`. */
  readonly prefix: string
  readonly headers: Readonly<Record<string, string>>
}

/** A stream as its bytes came. It is parsed when the clock has stopped, so that parsing takes nothing from what runs. */
export interface Recording {
  /** Each piece, with the milliseconds since the request was begun. */
  readonly pieces: readonly { readonly atMs: number; readonly bytes: Buffer }[]
  /** False when it was given up before its end. */
  readonly isWhole: boolean
  readonly endMs: number
}

/** A run's stream, with times in milliseconds since the request was begun. */
export interface StreamedRun {
  readonly events: readonly StreamedEvent[]
  /** Any event, which is `metadata`. */
  readonly firstEventMs: number
  /** The first one that the graph made. */
  readonly firstOutputMs: number
  readonly lastEventMs: number
  /** The response was over. */
  readonly endMs: number
  readonly isWhole: boolean
}

export class BenchFailed extends Error {}

/** A system lacks what a scenario needs; its row stays empty and says so. */
export class NotServed extends BenchFailed {}

const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY })

/** @throws NotServed  the route is not there  @throws BenchFailed  any other answer but a 2xx */
export async function callJson(target: Target, method: string, path: string, body?: unknown): Promise<unknown> {
  const response = await send(target, method, path, body)
  await expectOk(response, method, path)
  return json(response)
}

/** The milliseconds until the answer was there. @throws as `callJson` does */
export async function timeOf(target: Target, method: string, path: string, body?: unknown): Promise<number> {
  const begin = performance.now()
  const response = await send(target, method, path, body)
  await expectOk(response, method, path)
  for await (const _ of response);
  return performance.now() - begin
}

/** @throws as `callJson` does */
export async function streamRun(target: Target, path: string, body: unknown): Promise<StreamedRun> {
  return parseRun(await recordRun(target, path, body))
}

/**
 * @param signal  gives the stream up: what came until then is the recording
 * @throws as `callJson` does
 */
export async function recordRun(target: Target, path: string, body: unknown, signal?: AbortSignal): Promise<Recording> {
  const begin = performance.now()
  const pieces: Recording["pieces"][number][] = []
  try {
    const response = await send(target, "POST", path, body, signal)
    await expectOk(response, "POST", path)
    for await (const bytes of response) pieces.push({ atMs: performance.now() - begin, bytes: bytes as Buffer })
    return { pieces, isWhole: true, endMs: performance.now() - begin }
  } catch (error) {
    if (signal?.aborted) return { pieces, isWhole: false, endMs: performance.now() - begin }
    throw error
  }
}

export function parseRun({ pieces, isWhole, endMs }: Recording): StreamedRun {
  const read = createEventReader()
  const events: StreamedEvent[] = []
  let [firstEventMs, firstOutputMs, lastEventMs] = [Number.NaN, Number.NaN, Number.NaN]
  for (const { atMs, bytes } of pieces) {
    const came = read(bytes)
    if (came.length === 0) continue
    if (events.length === 0) firstEventMs = atMs
    if (Number.isNaN(firstOutputMs) && came.some(({ name }) => isOutput(name))) firstOutputMs = atMs
    lastEventMs = atMs
    events.push(...came)
  }
  return { events, firstEventMs, firstOutputMs, lastEventMs, endMs, isWhole }
}

const isOutput = (name: string): boolean => name !== "metadata" && name !== "end"

function send(
  target: Target,
  method: string,
  path: string,
  body?: unknown,
  signal?: AbortSignal,
): Promise<IncomingMessage> {
  const payload = body === undefined ? undefined : Buffer.from(JSON.stringify(body))
  const headers = {
    ...target.headers,
    ...(payload && { "content-type": "application/json", "content-length": payload.length }),
  }
  const options: RequestOptions = { ...target.address, agent, method, path: `${target.prefix}${path}`, headers }
  return new Promise((resolve, reject) => {
    const request = httpRequest({ ...options, ...(signal && { signal }) }, resolve)
    request.once("error", reject)
    request.end(payload)
  })
}

async function expectOk(response: IncomingMessage, method: string, path: string): Promise<void> {
  const { statusCode = 0 } = response
  if (statusCode >= 200 && statusCode <= 299) return
  const answer = await text(response)
  if (statusCode === 404 && /\bNot Found\b/.test(answer)) {
    throw new NotServed(`${method} ${path.replace(/[0-9a-f-]{36}/g, "…")} is not served`)
  }
  throw new BenchFailed(`${method} ${path} answered ${statusCode}: ${answer}`)
}
