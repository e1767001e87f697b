/** The load generator: raw `node:http` on kept-alive connections, to use little processor time itself. */
import { Agent, request as httpRequest, type IncomingMessage, type RequestOptions } from "node:http"
import { buffer, json, text } from "node:stream/consumers"
import { setTimeout as sleep } from "node:timers/promises"
import { createEventReader, type StreamedEvent } from "./event-reader.js"

/** The address of a system. */
export interface Target {
  readonly address: { readonly socketPath: string } | { readonly host: string; readonly port: number }
  /** The prefix of every path, such as `/d/bench`. */
  readonly prefix: string
  readonly headers: Readonly<Record<string, string>>
}

/** The recorded bytes of a stream. They are parsed after the clock has stopped, so that parsing does not affect the measurement. */
export interface Recording {
  /** The received chunks, with the time in milliseconds since the start of the request. */
  readonly pieces: readonly { readonly atMs: number; readonly bytes: Buffer }[]
  /** False if the client cancelled the stream before its end. */
  readonly isWhole: boolean
  readonly endMs: number
}

/** A run's stream, with times in milliseconds since the start of the request. */
export interface StreamedRun {
  readonly events: readonly StreamedEvent[]
  /** The first event, which is `metadata`. */
  readonly firstEventMs: number
  /** The first event of the graph. */
  readonly firstOutputMs: number
  /** The end of the response. */
  readonly endMs: number
  readonly isWhole: boolean
}

export class BenchFailed extends Error {}

const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY })

/** @throws BenchFailed  for any status other than 2xx */
export async function callJson(target: Target, method: string, path: string, body?: unknown): Promise<unknown> {
  const response = await send(target, method, path, body)
  await expectOk(response, method, path)
  return json(response)
}

/** The response text, and the time until it was complete in milliseconds. @throws like `callJson` */
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

/** @throws like `callJson` */
export async function streamRun(target: Target, path: string, body: unknown): Promise<StreamedRun> {
  return parseRun(await recordRun(target, path, body))
}

/**
 * @param signal  cancels the stream; the recording then has what was received before
 * @throws like `callJson`
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
    throw new BenchFailed(`the stream failed: ${(error as Error).message}`, { cause: error })
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

// A Unix socket with a full backlog rejects clients at once, while TCP clients wait. So retry after a pause.
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

/** The server closed a kept-alive connection just when it was reused. The request was not sent, so it can be retried. */
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
  throw new BenchFailed(`${method} ${path} returned ${statusCode}: ${answer}`)
}
