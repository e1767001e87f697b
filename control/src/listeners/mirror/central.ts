/** Calls the control plane of which this installation is a listener. */
import type { ReadableStream } from "node:stream/web"
import { homeHeader, longestWaitMs, versionHeader } from "@superstep/protocol/listener/calls"
import type {
  ReportReply as Reported,
  ReportRequest,
  WorkReply as Work,
  WorkRequest,
} from "@superstep/protocol/listener/messages"
import { ReportReply, WorkReply } from "@superstep/protocol/listener/validators"
import { type Receiver, received } from "@superstep/protocol/schemas/received"
import { KnownError } from "@superstep/toolkit/errors/errors"
import type { Central } from "./settings.js"

/** The control plane did not answer, or refused. */
export class CentralFailed extends KnownError {
  readonly code = "central_failed"
  /** The status of its reply; undefined without one. */
  readonly status: number | undefined
  constructor(message: string, status?: number, options?: ErrorOptions) {
    super(message, options)
    this.status = status
  }
}

export interface CentralCalls {
  /** @throws CentralFailed */
  work(request: WorkRequest): Promise<Work>
  /** @throws CentralFailed */
  report(request: ReportRequest): Promise<Reported>
  /** @throws CentralFailed */
  archive(uploadId: string): Promise<ReadableStream<Uint8Array> | null>
}

// A line that was cut without a word must not hold a call for ever.
const answerMs = 30_000
const archiveMs = 30 * 60_000
// Twenty deployments with their secrets are far smaller. An address that is no control plane must not fill the memory.
const mostReplyBytes = 128 * 1024 * 1024

/** @param signal  ends all calls */
export function callsTo(
  { url, token }: Central,
  { homeId, version }: { readonly homeId: string; readonly version: string },
  signal: AbortSignal,
): CentralCalls {
  const call = async (method: "GET" | "POST", path: string, limitMs: number, body?: unknown): Promise<Response> => {
    const response = await fetch(`${url}/internal/listener/${path}`, {
      method,
      headers: {
        authorization: `Bearer ${token.reveal()}`,
        [homeHeader]: homeId,
        [versionHeader]: version,
        ...(body !== undefined && { "content-type": "application/json" }),
      },
      // The token is only for the address that the operator has set.
      redirect: "error",
      signal: AbortSignal.any([signal, AbortSignal.timeout(limitMs)]),
      ...(body !== undefined && { body: JSON.stringify(body) }),
    }).catch((cause: unknown) => {
      throw new CentralFailed(`${url} does not answer`, undefined, { cause })
    })
    if (response.ok) return response
    const { text } = await startOf(response, 2000)
    throw new CentralFailed(`${url} replied ${response.status} ${text.slice(0, 500)}`, response.status)
  }
  const read = async <Message>(response: Response, receiver: Receiver): Promise<Message> => {
    const it = received<Message>(receiver, await jsonOf(url, response))
    if ("message" in it) return it.message
    const { path, message } = it.problem
    throw new CentralFailed(
      `${url} sent a reply that this release cannot read: ${path.join(".")} ${message}. Run the same release on both sides`,
    )
  }
  return {
    work: async (request) => read<Work>(await call("POST", "work", answerMs + longestWaitMs, request), WorkReply),
    report: async (request) => read<Reported>(await call("POST", "reports", answerMs, request), ReportReply),
    archive: async (uploadId) =>
      (await call("GET", `archives/${uploadId}`, archiveMs)).body as ReadableStream<Uint8Array> | null,
  }
}

async function jsonOf(url: string, response: Response): Promise<unknown> {
  const { text, isAll, broke } = await startOf(response, mostReplyBytes)
  if (broke !== undefined) throw new CentralFailed(`the reply of ${url} broke off`, undefined, { cause: broke })
  if (!isAll) throw new CentralFailed(`${url} sent a reply of more than ${mostReplyBytes} bytes`)
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new CentralFailed(`${url} sent a reply that is not JSON: check SUPERSTEP_LISTENER_URL`, undefined, { cause })
  }
}

/** @returns  the text until its end, until it has `most` bytes, or until it broke off, with the reason */
async function startOf(
  response: Response,
  most: number,
): Promise<{ readonly text: string; readonly isAll: boolean; readonly broke?: unknown }> {
  const parts: Uint8Array[] = []
  let bytes = 0
  const text = () => Buffer.concat(parts).subarray(0, most).toString()
  try {
    for await (const part of response.body ?? []) {
      parts.push(part)
      bytes += part.length
      if (bytes > most) return { text: text(), isAll: false }
    }
  } catch (broke) {
    return { text: text(), isAll: false, broke }
  }
  return { text: text(), isAll: true }
}
