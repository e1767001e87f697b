/** HTTP for the installations of listeners, which only call: for work, for archives, and with reports. A token takes the place of a key. */
import { Readable } from "node:stream"
import { z } from "@hono/zod-openapi"
import { homeHeader, versionHeader } from "@superstep/protocol/listener/calls"
import type { ReportRequest as Report, WorkRequest as Work } from "@superstep/protocol/listener/messages"
import { ReportRequest, WorkRequest } from "@superstep/protocol/listener/validators"
import { received } from "@superstep/protocol/schemas/received"
import type { Database } from "@superstep/toolkit/db/database"
import { InvalidInput, NotFound, Unauthenticated } from "@superstep/toolkit/errors/errors"
import { messageOf } from "@superstep/toolkit/http/message-of"
import { type Api, addRoute, createApi } from "@superstep/toolkit/http/route"
import type { Context } from "hono"
import type { CountFailures } from "../../http/count-failures.js"
import { uuid } from "../../http/fields.js"
import type { MasterKey } from "../../secrets/seal.js"
import { readArchiveContent } from "../../uploads/content.js"
import { type CallingListener, findCallingListener } from "../token-operations.js"
import { takeReport } from "./report-operations.js"
import { workFor } from "./work-operations.js"
import { assignedArchive } from "./work-queries.js"

interface ExchangeRoutes {
  readonly db: Database
  readonly key: MasterKey
  readonly counted: CountFailures
  /** Most bytes of logs of a deployment. */
  readonly logQuotaBytes: number
  /** Ends requests that wait for work. */
  readonly stopping: AbortSignal
}

const refusals = {
  401: { description: "the token is missing, unknown or revoked" },
  403: { description: "another installation uses the token" },
} as const

/** @returns  an app of its own: these routes are between our releases, and not in the document of the API */
export function exchangeWithListeners(options: ExchangeRoutes): Api {
  const api = createApi()
  addWork(api, options)
  addReports(api, options)
  addArchives(api, options)
  return api
}

function addWork(api: Api, options: ExchangeRoutes): void {
  const { db, key, stopping } = options
  addRoute(api, {
    method: "post",
    path: "/internal/listener/work",
    summary: "For a listener's installation: waits until a deployment of the listener is not as it knows it.",
    body: messageOf((value) => received<Work>(WorkRequest, value)),
    responses: { 200: { description: "what has changed: a WorkReply" }, ...refusals },
    handle: async ({ c, body }) => {
      const listener = await callerOf(c, options)
      const reply = await workFor({ db, key }, listener, body, AbortSignal.any([stopping, c.req.raw.signal]))
      // It may have been revoked while the request waited.
      await callerOf(c, options)
      c.header("cache-control", "no-store")
      return c.json(reply)
    },
  })
}

function addReports(api: Api, options: ExchangeRoutes): void {
  const { db, logQuotaBytes } = options
  addRoute(api, {
    method: "post",
    path: "/internal/listener/reports",
    summary: "For a listener's installation: reports the state of a deployment and its new log lines.",
    body: messageOf((value) => received<Report>(ReportRequest, value)),
    responses: {
      200: { description: "where its reports stand: a ReportReply" },
      ...refusals,
      404: { description: "the listener has no such deployment" },
    },
    handle: async ({ c, body }) => c.json(await takeReport(db, await callerOf(c, options), body, logQuotaBytes)),
  })
}

function addArchives(api: Api, options: ExchangeRoutes): void {
  const { db } = options
  addRoute(api, {
    method: "get",
    path: "/internal/listener/archives/{upload_id}",
    summary: "For a listener's installation: an archive of source code that was uploaded for one of its deployments.",
    params: z.object({ upload_id: uuid }),
    responses: {
      200: { description: "the archive", schema: z.string(), contentType: "application/gzip" },
      ...refusals,
      404: { description: "the listener has no such archive" },
    },
    handle: async ({ c, params }) => {
      const { listenerId } = await callerOf(c, options)
      const archive = await assignedArchive(db, listenerId, params.upload_id)
      if (!archive) throw new NotFound(`Archive ID ${params.upload_id} not found.`)
      const transfer = { uploadId: archive.upload_id, transferId: archive.transfer_id }
      const content = Readable.toWeb(Readable.from(readArchiveContent(db, transfer)))
      return c.body(content as ReadableStream, 200, { "content-type": "application/gzip" })
    },
  })
}

const named = z.string().regex(/^[\w.:+-]{1,100}$/)

/** @throws Unauthenticated | Forbidden | InvalidInput | TooManyRequests */
async function callerOf(c: Context, { db, counted }: ExchangeRoutes): Promise<CallingListener> {
  const token = /^Bearer (\S+)$/.exec(c.req.header("authorization") ?? "")?.[1]
  if (token === undefined) throw new Unauthenticated("Missing listener token: send it as Authorization: Bearer")
  const homeId = named.safeParse(c.req.header(homeHeader))
  const version = named.safeParse(c.req.header(versionHeader))
  if (!homeId.success || !version.success) {
    const message = `${homeHeader} and ${versionHeader} must name the calling installation and its release`
    throw new InvalidInput([{ path: ["header"], message, type: "value_error" }])
  }
  return counted(c, () => findCallingListener(db, token, { homeId: homeId.data, version: version.data }))
}
