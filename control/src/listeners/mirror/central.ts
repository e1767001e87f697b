/** Calls the control plane of which this installation is a listener. */
import type { ReadableStream } from "node:stream/web"
import { KnownError } from "@superstep/toolkit/errors/errors"
import type { z } from "zod"
import {
  homeHeader,
  longestWaitMs,
  type ReportReply,
  type ReportRequest,
  reportReply,
  versionHeader,
  type WorkReply,
  type WorkRequest,
  workReply,
} from "../exchange/exchange.js"
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
  work(request: WorkRequest): Promise<WorkReply>
  /** @throws CentralFailed */
  report(request: ReportRequest): Promise<ReportReply>
  /** @throws CentralFailed */
  archive(uploadId: string): Promise<ReadableStream<Uint8Array> | null>
}

// A line that was cut without a word must not hold a call for ever.
const answerMs = 30_000
const archiveMs = 30 * 60_000

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
    const text = await response.text().catch(() => "")
    throw new CentralFailed(`${url} replied ${response.status} ${text.slice(0, 500)}`, response.status)
  }
  const parsed = async <S extends z.ZodType>(response: Response, schema: S): Promise<z.output<S>> => {
    const value: unknown = await response.json().catch((cause: unknown) => {
      throw new CentralFailed(`the reply of ${url} broke off`, undefined, { cause })
    })
    const result = schema.safeParse(value)
    if (result.success) return result.data
    throw new CentralFailed(`${url} sent a reply that this release cannot read: run the same release on both sides`)
  }
  return {
    work: async (request) => parsed(await call("POST", "work", answerMs + longestWaitMs, request), workReply),
    report: async (request) => parsed(await call("POST", "reports", answerMs, request), reportReply),
    archive: async (uploadId) =>
      (await call("GET", `archives/${uploadId}`, archiveMs)).body as ReadableStream<Uint8Array> | null,
  }
}
