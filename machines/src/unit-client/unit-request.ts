/** Requests to a unit: each on a connection of its own, within a time limit, with a reply of limited size. */
import { request as httpRequest, type IncomingMessage } from "node:http"
import type { Readable } from "node:stream"
import { type Address, connectOptions } from "@superstep/protocol/http/address"
import type { Secret } from "@superstep/toolkit/config/settings"
import { type Clock, realClock, sleepFor, timeLimit } from "@superstep/toolkit/time/clock"

export interface UnitAddress {
  readonly address: Address
  readonly token: Secret
  /** Default: the time of this computer. */
  readonly clock?: Clock
  /** Default: over the network. */
  readonly send?: SendToUnit | undefined
}

/**
 * Sends one request to a unit.
 * @throws  the reason of the signal, when it ends the request
 */
export type SendToUnit = (to: UnitAddress, asked: UnitRequest, signal: AbortSignal) => Promise<UnitReply>

export interface UnitRequest {
  readonly method: string
  readonly path: string
  readonly body: string
}

/** A reply whose body is still to be read. */
export type UnitReply = Readable & Pick<IncomingMessage, "statusCode">

// Longer than the busiest moment of a unit; one that is silent for this long is stuck.
export const timeoutMs = 10_000

// On a Unix socket a full queue of connections is an error at once, where TCP would wait: so we wait and retry.
const fullQueue = "EAGAIN"
const fullQueuePauseMs = 50

/** @param limitMs  how long the whole reply may take */
export async function ask(
  address: UnitAddress,
  method: string,
  path: string,
  signal?: AbortSignal,
  limitMs = timeoutMs,
  body = "",
): Promise<{ status: number; body: string }> {
  using limit = timeLimit(address.clock ?? realClock, limitMs)
  const either = signal ? AbortSignal.any([signal, limit.signal]) : limit.signal
  const response = await openReply(address, { method, path, body }, either)
  return { status: response.statusCode ?? 0, body: await textOf(response).catch(asReasonOf(either)) }
}

/**
 * Sends a request on a connection of its own, again while the unit's queue of connections is full.
 * @throws   the reason of the signal, when it ends the request
 */
export async function openReply(address: UnitAddress, asked: UnitRequest, signal: AbortSignal): Promise<UnitReply> {
  const { clock = realClock, send = sendOnce } = address
  for (;;) {
    try {
      return await send(address, asked, signal)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== fullQueue) throw error
    }
    await sleepFor(clock, fullQueuePauseMs, signal)
  }
}

function sendOnce({ address, token }: UnitAddress, asked: UnitRequest, signal: AbortSignal): Promise<UnitReply> {
  const { method, path, body } = asked
  const headers = { "x-superstep-unit": token.reveal(), "content-length": Buffer.byteLength(body) }
  const options = { ...connectOptions(address), method, path, headers, agent: false, signal }
  return new Promise<IncomingMessage>((resolve, reject) => {
    httpRequest(options, resolve).on("error", reject).end(body)
  }).catch(asReasonOf(signal))
}

/** Node reports every end by a signal as an abort. */
export const asReasonOf =
  (signal: AbortSignal) =>
  (error: unknown): never => {
    throw signal.aborted ? signal.reason : error
  }

// A report names every graph and why it fails to load.
export const mostBytes = 4 * 1024 * 1024

export class ReplyTooLarge extends Error {
  readonly code = "REPLY_TOO_LARGE"
}

/** @throws ReplyTooLarge  code of a deployment may answer, and never end its reply */
async function textOf(response: UnitReply): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > mostBytes) throw new ReplyTooLarge(`a unit answered with more than ${mostBytes} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString("utf8")
}

const unreachable = [
  ...["REPLY_TOO_LARGE", "ENOENT", "ECONNREFUSED", "ECONNRESET", "EPIPE", "ETIMEDOUT"],
  // An address with a host name: there is no such name now, or no way to it.
  ...["ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH"],
]

export function undefinedIfUnreachable(error: unknown): undefined {
  const { code, name } = error as NodeJS.ErrnoException
  if (name === "TimeoutError" || unreachable.includes(code ?? "")) return undefined
  // Node's parser has a code for each way in which a reply is not HTTP.
  if (code?.startsWith("HPE_")) return undefined
  throw error
}
