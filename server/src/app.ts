/** The agent server's HTTP application: the middleware of every request, then one line per domain. */

import type { Secret } from "@superstep/toolkit/config/settings"
import type { Database } from "@superstep/toolkit/db/database"
import { TooLarge } from "@superstep/toolkit/errors/errors"
import { errorHandler, replyToError } from "@superstep/toolkit/http/errors"
import { defaultKeepAliveMs, longAnswers } from "@superstep/toolkit/http/long-answer"
import { notFound } from "@superstep/toolkit/http/not-found"
import { identifyReplies } from "@superstep/toolkit/http/reply-headers"
import { type Api, createApi } from "@superstep/toolkit/http/route"
import type { Context, MiddlewareHandler } from "hono"
import { bodyLimit } from "hono/body-limit"
import { addA2aRoutes } from "./a2a/routes.js"
import type { GraphDefaults } from "./assistants/assistant.js"
import { addAssistantGraphRoutes } from "./assistants/graph-routes.js"
import { addAssistantRoutes } from "./assistants/routes.js"
import type { SourceReader } from "./assistants/source-analysis.js"
import { addCronRoutes } from "./crons/routes.js"
import type { Gate } from "./gate/gate.js"
import { identifyBy } from "./gate/identify.js"
import type { OwnChannel } from "./gate/own-channel.js"
import { serveThroughApp } from "./gate/project-app.js"
import { requireApiKey, requireKnownOrigin, requireLoopbackHost, requireUnitToken } from "./http/access.js"
import { identifyCaller } from "./http/caller-of.js"
import { crossOrigin } from "./http/cross-origin.js"
import { refuseDisabled } from "./http/disabled.js"
import { type Limits, limitRequests } from "./http/limits.js"
import { exceptOwnCode, fromOutside, setOrigin } from "./http/origin.js"
import { pathBelow } from "./http/paths.js"
import { logRequests } from "./http/request-log.js"
import type { HttpSettings } from "./http/settings.js"
import { refuseHeadOfStreams } from "./http/stream-methods.js"
import { addMcpRoutes } from "./mcp/routes.js"
import type { DocumentOptions } from "./meta/document.js"
import { addMetaRoutes, addReference } from "./meta/routes.js"
import type { Metrics } from "./metrics/metrics.js"
import { addTurns, type RunRoutes } from "./runs/creating-routes.js"
import { addRunHistoryRoutes } from "./runs/history-routes.js"
import { addQueueRoutes } from "./runs/queue-routes.js"
import { addRunRoutes } from "./runs/routes.js"
import { addRunSearchRoute } from "./runs/search-routes.js"
import { addStreamRoutes } from "./runs/stream-routes.js"
import { addThreadStreamRoutes } from "./runs/thread-stream-routes.js"
import { addWaitRoutes } from "./runs/wait-routes.js"
import type { Readiness } from "./serving/readiness.js"
import { addUnitRoutes } from "./serving/routes.js"
import type { OutcomeReport } from "./serving/run-outcomes.js"
import type { StatusSources } from "./serving/status.js"
import { addStoreRoutes } from "./store/routes.js"
import type { Store } from "./store/store-settings.js"
import { addStudio } from "./studio/routes.js"
import { addThreadProtocolRoutes, isThreadSocket } from "./thread-stream/routes.js"
import { addThreadActRoute } from "./threads/act-routes.js"
import { addThreadAnswersRoute } from "./threads/answer-routes.js"
import { addThreadRoutes } from "./threads/routes.js"
import { addThreadStateRoutes } from "./threads/state-routes.js"
import type { DefaultTtl } from "./threads/sweep-queries.js"
import { addTraceRoutes, type TraceRoutes } from "./tracing/routes.js"
import type { Tracing } from "./tracing/tracing.js"
import type { UiBundles } from "./ui/bundles.js"
import { addUiRoutes } from "./ui/routes.js"
import type { ProjectCrashes } from "./workers/project-crashes.js"

export interface AppOptions extends RunRoutes, TraceRoutes {
  readonly store: Store
  readonly version: string
  readonly isDev: boolean
  /** The folder with the files of the console, which a development server serves at `/studio`. */
  readonly consoleFolder: string
  readonly http: HttpSettings
  readonly unitToken: Secret | undefined
  readonly apiKeys: Secret | undefined
  readonly gate: Gate
  readonly crashes: ProjectCrashes
  readonly outcomes: OutcomeReport
  readonly channel: OwnChannel
  readonly maxBodyBytes: number
  readonly limits?: Limits
  /** How often an answer that takes long sends a byte, in milliseconds; default 5 s. */
  readonly keepAliveMs?: number
  readonly readiness: Readiness
  /** Ends the streams of the status when the server stops; default never. */
  readonly stopping?: AbortSignal
  /** Its connection receives notifications; default `db`. */
  readonly notifications?: Pick<Database, "listen">
  readonly metrics: Metrics
  readonly modelUse: StatusSources["modelUse"]
  /** Whether runs are traced to LangSmith. */
  readonly tracesToLangsmith: boolean
  /** `auth.openapi` of langgraph.json. */
  readonly authDocument: DocumentOptions["auth"]
  /** Set when traces are recorded. */
  readonly tracing: Tracing | undefined
  readonly ui: Pick<UiBundles, "of">
  /** The project's settings of the graphs' system assistants. */
  readonly graphDefaults: Readonly<Record<string, GraphDefaults>>
  /** The project's time to live for threads without their own. */
  readonly defaultTtl: DefaultTtl | undefined
  /** Reads schemas from source code, for graphs that do not provide them at run time. */
  readonly sources: SourceReader
}

export function createApp(options: AppOptions): Api {
  const { log, claimer, version, http, gate, channel } = options
  const app = createApi(pathBelow(http.mountPrefix))
  const errors = { log, detail: "text" } as const
  app.onError(errorHandler(errors))

  app.use(longAnswers({ everyMs: options.keepAliveMs ?? defaultKeepAliveMs, replyTo: replyToError(errors) }))
  app.use(identifyReplies(claimer.revisionId === null ? {} : { "x-revision-id": claimer.revisionId }))
  if (options.tracing) app.use(options.tracing.middleware)
  const requestLog = logRequests(log, http.loggingHeaders)
  if (requestLog) app.use(requestLog)
  app.use(setOrigin)
  app.use(fromOutside(crossOrigin(http.crossOrigin)))
  if (options.isDev) {
    app.use(fromOutside(requireLoopbackHost), fromOutside(requireKnownOrigin(http.crossOrigin.origins)))
    addStudio(app, { folder: options.consoleFolder, version, mountPrefix: http.mountPrefix })
  }
  if (options.unitToken) app.use(fromOutside(requireUnitToken(options.unitToken)))
  if (options.apiKeys) app.use(fromOutside(requireApiKey(options.apiKeys)))
  app.use(limitBody(options.maxBodyBytes))
  app.use(holdUntilReady(options.readiness))
  const identifyUser = identifyBy({ gate, isDev: options.isDev })
  app.use(
    serveThroughApp({
      gate,
      channel,
      identify: identifyUser,
      hasSocketAt: isThreadSocket,
      mountPrefix: http.mountPrefix,
    }),
  )
  if (http.disabled.length > 0) app.use(refuseDisabled(http.disabled))
  app.use(refuseHeadOfStreams)
  addTurns(app, options.turns)
  app.use(identifyCaller(identifyUser))
  if (options.limits) {
    app.use(exceptOwnCode(limitRequests({ ...options.limits, isBehindEdge: options.unitToken !== undefined })))
  }

  const { mountPrefix, disabled } = http
  const needsKey = options.unitToken !== undefined || options.apiKeys !== undefined
  const document = { version, disabled, needsKey, prefix: mountPrefix, auth: options.authDocument }
  addMetaRoutes(app, { ...options, document })
  addAssistantRoutes(app, options)
  addAssistantGraphRoutes(app, options)
  addThreadRoutes(app, options)
  addThreadStateRoutes(app, options)
  addThreadAnswersRoute(app, options)
  addThreadActRoute(app, options)
  const runs = { ...options, configurableHeaders: http.configurableHeaders }
  addRunRoutes(app, runs)
  addRunHistoryRoutes(app, runs)
  addTraceRoutes(app, runs)
  addQueueRoutes(app, runs)
  addRunSearchRoute(app, runs)
  addStreamRoutes(app, runs)
  addWaitRoutes(app, runs)
  addCronRoutes(app, options)
  addThreadStreamRoutes(app, options)
  addThreadProtocolRoutes(app, runs)
  addUiRoutes(app, { ui: options.ui, isBehindEdge: options.unitToken !== undefined, mountPrefix: http.mountPrefix })
  addStoreRoutes(app, options.store)
  const prefixOf = (c: Context) => (options.unitToken ? forwardedPrefix(c) : "") + mountPrefix
  addMcpRoutes(app, options)
  addA2aRoutes(app, options, prefixOf)
  if (options.unitToken) {
    const { notifications = options.db, stopping = new AbortController().signal } = options
    const revisionId = claimer.revisionId
    addUnitRoutes(app, { ...options, notifications, stopping, revisionId, crossOrigin: http.crossOrigin })
  }
  addReference(app, document, prefixOf)
  app.notFound(notFound(app))
  return app
}

/** The path prefix under which the edge serves this agent (protocol/unit). */
const forwardedPrefix = (c: Context): string =>
  /^(\/[\w.~-]+)*$/.exec(c.req.header("x-forwarded-prefix") ?? "")?.[0] ?? ""

/** Until the graphs are loaded, requests about assistants and runs wait: a 404 would be wrong. */
const holdUntilReady =
  (readiness: Readiness): MiddlewareHandler =>
  async (c, next) => {
    const isAboutTheServer = /^\/(ok|info|metrics)$|^\/internal\//.test(c.req.path)
    if (!isAboutTheServer && !readiness.isReady) await readiness.untilReady(c.req.raw.signal)
    await next()
  }

/**
 * A body is measured by its Content-Length if it has one. Counting the body itself creates a web stream, which costs a tenth
 * of the server's time for a short run.
 */
const limitBody = (maxBytes: number): MiddlewareHandler => {
  const refuse = (): never => {
    throw new TooLarge(`the body is larger than ${maxBytes} bytes`)
  }
  const counted = bodyLimit({ maxSize: maxBytes, onError: refuse })
  return (c, next) => {
    const length = c.req.header("content-length")
    const isUnmeasured = length === undefined && c.req.method !== "GET" && c.req.method !== "HEAD"
    if (isUnmeasured || c.req.header("transfer-encoding") !== undefined) return counted(c, next)
    return Number(length ?? 0) > maxBytes ? refuse() : next()
  }
}
