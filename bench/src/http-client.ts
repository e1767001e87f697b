/** The load generator: raw `node:http` on kept-alive connections, so that it costs as little as it can itself. */
import { Agent, request as httpRequest, type IncomingMessage, type RequestOptions } from "node:http"
import { buffer, json, text } from "node:stream/consumers"
import { setTimeout as sleep } from "node:timers/promises"
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
  /** The response was over. */
  readonly endMs: number
  readonly isWhole: boolean
}

export class BenchFailed extends Error {}

const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY })

/** @throws BenchFailed  any answer but a 2xx */
export async function callJson(target: Target, method: string, path: string, body?: unknown): Promise<unknown> {
  const response = await send(target, method, path, body)
  await expectOk(response, method, path)
  return json(response)
}

/** The answer's text, and the milliseconds until all of it was there. @throws as `callJson` does */
export async function timeCall(
  target: Target,
  method: string,
  path: string,
  body?: unknown,
): Promise<{ ms: number; answer: string }> {
  const begin = performance.now()
  const response = await send(target, method, path, body)
  await expectOk(response, method, path)
  const bytes = await buffer(response)
  return { ms: performance.now() - begin, answer: bytes.toString() }
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
    if (error instanceof BenchFailed) throw error
    throw new BenchFailed(`the stream broke: ${(error as Error).message}`, { cause: error })
  }
}

export function parseRun({ pieces, isWhole, endMs }: Recording): StreamedRun {
  const read = createEventReader()
  const events: StreamedEvent[] = []
  let [firstEventMs, firstOutputMs] = [Number.NaN, Number.NaN]
  for (const { atMs, bytes } of pieces) {
    const came = read(bytes)
    if (came.length === 0) continue
    if (events.length === 0) firstEventMs = atMs
    if (Number.isNaN(firstOutputMs) && came.some(({ name }) => isOutput(name))) firstOutputMs = atMs
    events.push(...came)
  }
  return { events, firstEventMs, firstOutputMs, endMs, isWhole }
}

const isOutput = (name: string): boolean => name !== "metadata" && name !== "end"

// A full backlog refuses a Unix socket's client at once, where one of TCP waits: so wait as TCP would.
const backlogPauseMs = 5

async function send(
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
  const options = {
    ...target.address,
    agent,
    method,
    path: `${target.prefix}${path}`,
    headers,
    ...(signal && { signal }),
  }
  for (;;) {
    try {
      return await answerTo(options, payload)
    } catch (cause) {
      if (cause instanceof ClosedWhileIdle) continue
      const { code, message } = cause as NodeJS.ErrnoException
      if (code !== "EAGAIN") throw new BenchFailed(`${method} ${path}: ${message}`, { cause })
      await sleep(backlogPauseMs)
    }
  }
}

/** The other end closed a kept connection just when it was used again: nothing was asked yet. */
class ClosedWhileIdle extends Error {}

const answerTo = (options: RequestOptions, payload: Buffer | undefined): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const request = httpRequest(options, resolve)
    request.once("error", (error: NodeJS.ErrnoException) => {
      const wasKept = request.reusedSocket && error.code === "ECONNRESET"
      reject(wasKept ? new ClosedWhileIdle(error.message) : error)
    })
    request.end(payload)
  })

async function expectOk(response: IncomingMessage, method: string, path: string): Promise<void> {
  const { statusCode = 0 } = response
  if (statusCode >= 200 && statusCode <= 299) return
  const answer = await text(response)
  throw new BenchFailed(`${method} ${path} answered ${statusCode}: ${answer}`)
}
