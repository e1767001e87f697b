/** Routes about the server itself (agent-server-api §3). */
import type { Database } from "@superstep/toolkit/db/database"
import { pingDatabase } from "@superstep/toolkit/db/ping"
import { NotReady } from "@superstep/toolkit/errors/errors"
import { referencePage } from "@superstep/toolkit/http/reference-page"
import { type Api, addRoute } from "@superstep/toolkit/http/route"
import type { Context } from "hono"
import { z } from "zod"
import type { Streams } from "../events/streams.js"
import { jsonObject, queryFlag } from "../http/parameters.js"
import type { Metrics } from "../metrics/metrics.js"
import type { Readiness } from "../serving/readiness.js"
import type { Workers } from "../workers/port.js"
import { type DocumentOptions, openApiDocument } from "./document.js"
import { renderInfo } from "./info.js"

export interface MetaParts {
  readonly db: Database
  readonly workers: Workers
  readonly streams: Streams
  readonly metrics: Metrics
  readonly readiness: Readiness
  /** Whether runs are traced to LangSmith. */
  readonly tracesToLangsmith: boolean
  readonly document: DocumentOptions
}

const tags = ["System"]
const ok = z.object({ ok: z.boolean() })
const isOk = { 200: { description: "The server is available", schema: ok } }
const answersOk = ({ c }: { c: Context }): Response => c.json({ ok: true })

export function addMetaRoutes(api: Api, parts: MetaParts): void {
  const { db, workers, readiness, tracesToLangsmith, document } = parts
  addRoute(api, {
    method: "get",
    path: "/ok",
    summary: "Check whether the server can start runs; with check_db also whether its database is available",
    tags,
    query: z.object({
      check_db: queryFlag,
      live: queryFlag.describe("1 checks only whether the process answers, also while it loads graphs"),
    }),
    responses: { ...isOk, 503: { description: "Graphs are still being loaded, or the database does not answer" } },
    handle: async ({ c, query }) => {
      if (!query.live && !readiness.isReady) throw new NotReady("the graphs are still loading: try again in a moment")
      if (query.check_db) await pingDatabase(db)
      return answersOk({ c })
    },
  })
  addRoute(api, {
    method: "get",
    path: "/",
    summary: "Check whether the server answers",
    tags,
    responses: isOk,
    handle: answersOk,
  })
  const info = { description: "Versions and flags", schema: jsonObject }
  addRoute(api, {
    method: "get",
    path: "/info",
    summary: "Get the server's versions and features",
    tags,
    responses: { 200: info },
    handle: ({ c }) => c.json(renderInfo({ version: document.version, report: workers.report(), tracesToLangsmith })),
  })
  addMetricsRoute(api, parts)
}

function addMetricsRoute(api: Api, { metrics, ...sources }: MetaParts): void {
  addRoute(api, {
    method: "get",
    path: "/metrics",
    summary: "Get metrics, in the format of Prometheus or as JSON",
    tags,
    query: z.object({ format: z.enum(["prometheus", "json"]).default("prometheus") }),
    responses: { 200: { description: "The metrics", schema: z.string(), contentType: "text/plain" } },
    handle: async ({ c, query }) => {
      const registry = await metrics.scrape(sources)
      if (query.format === "json") return c.json(await registry.getMetricsAsJSON())
      return c.body(await registry.metrics(), 200, { "content-type": registry.contentType })
    },
  })
}

/**
 * Adds the OpenAPI document and the page that renders it. Call it last: the document lists the routes added before.
 * @param prefixOf  the path prefix under which the request's client reaches the routes
 */
export function addReference(api: Api, document: DocumentOptions, prefixOf: (c: Context) => string): void {
  addRoute(api, {
    method: "get",
    path: "/openapi.json",
    summary: "Get this document",
    tags,
    responses: { 200: { description: "OpenAPI 3.1", schema: jsonObject } },
    handle: ({ c }) => c.json(documentFor(prefixOf(c))),
  })
  addRoute(api, {
    method: "get",
    path: "/docs",
    summary: "Get this document as an HTML page",
    tags,
    responses: { 200: { description: "The page", schema: z.string(), contentType: "text/html" } },
    handle: ({ c }) => c.html(referencePage(documentFor(prefixOf(c)) as never), 200, noScripts),
  })
  // Only the latest prefix is cached: the routes do not change, and most servers are reached under one prefix.
  let cached: { prefix: string; document: object } | undefined
  const documentFor = (prefix: string): object => {
    if (cached?.prefix !== prefix) cached = { prefix, document: openApiDocument(api, { ...document, prefix }) }
    return cached.document
  }
}

const noScripts = { "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'" }
