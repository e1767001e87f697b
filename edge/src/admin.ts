/**
 * The edge's admin API for the control plane (protocol/edge, "Admin socket"). Each request carries the token, but for those
 * that ask whether the edge works and accepts callers.
 */

import { once } from "node:events"
import { rm } from "node:fs/promises"
import type { Server } from "node:http"
import { setTimeout as sleep } from "node:timers/promises"
import { createAdaptorServer } from "@hono/node-server"
import { connectOptions, unixPathOf } from "@superstep/protocol/http/address"
import { Conflict, Unauthenticated, Unavailable } from "@superstep/toolkit/errors/errors"
import { errorHandler } from "@superstep/toolkit/http/errors"
import { messageOf } from "@superstep/toolkit/http/message-of"
import { addRoute, createApi } from "@superstep/toolkit/http/route"
import { z } from "zod"
import type { Edge } from "./edge.js"
import { showsToken } from "./edge-token.js"
import type { Succession } from "./succession.js"
import { readTable, type Table } from "./table.js"
import { readTableFile, writeTableFile } from "./table-file.js"

const counts = z.object({
  requests: z.number(),
  streams: z.number(),
  websockets: z.number(),
  idle_ms: z.number().default(0),
})

const tally = z.object({
  requests: z.number(),
  errors: z.number(),
  latency_ms: z.number(),
  latency_counts: z.array(z.number()),
})

// A disk that is full stays so for minutes.
const againMs = 2000

export const statusSchema = z.object({
  pid: z.number(),
  generation: z.number(),
  /** Identifies the settings it was started with, as its starter named them; an older edge does not report it. */
  command: z.string().default(""),
  units: z.record(z.string(), counts),
  /** Since the edge started; an older edge reports none. */
  deployments: z.record(z.string(), tally).default({}),
})
export const takenSchema = z.object({ generation: z.number() })

export const startedSchema = z.object({ pid: z.number() })

export interface AdminParts {
  /** Undefined for an edge that is one of several: it has no successor. */
  readonly succession: Succession | undefined
  /** Whether it accepts callers. */
  readonly isReady: () => boolean
}

function adminApp(edge: Edge, { succession, isReady }: AdminParts) {
  const api = createApi()
  api.onError(errorHandler({ log: edge.log, detail: "list" }))
  addRoute(api, {
    method: "get",
    path: "/live",
    summary: "Say that the edge works, also without a table; it needs no token",
    responses: { 200: { description: "it does" } },
    handle: ({ c }) => c.body(null, 200),
  })
  addRoute(api, {
    method: "get",
    path: "/ready",
    summary: "Say whether the edge accepts callers; it needs no token",
    responses: { 200: { description: "it does" }, 503: { description: "it has no table yet, or is stopping" } },
    handle: ({ c }) => {
      if (!isReady()) throw new Unavailable("this edge has no table yet, or is stopping", 1000)
      return c.body(null, 200)
    },
  })
  api.use("*", async (c, next) => {
    if (!showsToken(c.req.header("authorization"), edge.config.token))
      throw new Unauthenticated("the edge's token is missing or wrong")
    await next()
  })
  const take = tableTaker(edge)
  const requiredSuccession = (): Succession => {
    if (succession) return succession
    throw new Conflict("this edge is one of several and has no successor: start another one beside it", "no_successor")
  }

  addRoute(api, {
    method: "put",
    path: "/table",
    summary: "Use this table for every request that arrives from now on",
    body: messageOf(readTable),
    responses: {
      200: { description: "in use", schema: takenSchema },
      409: { description: "a newer one is in use" },
      422: { description: "it is no table, and the former one stays in use: says which field is invalid" },
    },
    handle: async ({ c, body }) => {
      await take(body)
      return c.json({ generation: body.generation })
    },
  })
  addRoute(api, {
    method: "get",
    path: "/status",
    summary: "Return what is open now, including on units that left the table",
    responses: { 200: { description: "the status", schema: statusSchema } },
    handle: ({ c }) => {
      const units = edge.counters.snapshot(edge.table.units.map(({ unit_id }) => unit_id))
      const deployments = edge.tallies.snapshot()
      const { command } = edge.config
      return c.json({ pid: process.pid, generation: edge.table.generation, command, units, deployments })
    },
  })
  addRoute(api, {
    method: "post",
    path: "/successor",
    summary: "Start the successor, which listens on the same socket",
    responses: { 201: { description: "the successor was started", schema: startedSchema } },
    handle: async ({ c }) => c.json({ pid: await requiredSuccession().start() }, 201),
  })
  addRoute(api, {
    method: "post",
    path: "/retire",
    summary: "Stop accepting connections, and exit when nothing is open any more",
    responses: { 202: { description: "it exits when nothing is open any more" } },
    handle: ({ c }) => {
      requiredSuccession().retire()
      return c.body(null, 202)
    },
  })
  return api
}

/**
 * Takes tables one after the other, and writes each to disk before use, so that a restart never returns to an older one. One that cannot be
 * written, as on a full disk, is used all the same: a key that was revoked must end now. It is written as soon as that is possible.
 */
function tableTaker(edge: Edge): (table: Table) => Promise<void> {
  let last: Promise<unknown> = Promise.resolve()
  const inTurn = (work: () => Promise<void>): Promise<void> => {
    const done = last.then(work)
    // A failure here goes to its own caller and does not stop the next table.
    last = done.catch(() => undefined)
    return done
  }
  /** The newest, while the file has an older one. */
  let unwritten: Table | undefined
  let isRetrying = false
  const write = async (table: Table) => {
    try {
      await writeTableFile(edge.config.tablePath, table)
      unwritten = undefined
    } catch (err) {
      unwritten = table
      if (isRetrying) return
      edge.log.error(
        { err, generation: table.generation },
        "the table is in use and cannot be written: it is tried again",
      )
      void retry()
    }
  }
  const retry = async () => {
    isRetrying = true
    while (unwritten) {
      await sleep(againMs, undefined, { ref: false })
      await inTurn(async () => {
        if (!unwritten) return
        // The successor of a retired edge may have written a newer one. One that cannot be read is replaced.
        const stored = await readTableFile(edge.config.tablePath).catch(() => undefined)
        if (stored && stored.generation >= unwritten.generation) unwritten = undefined
        else await write(unwritten)
      })
    }
    isRetrying = false
    edge.log.info({}, "the table is written again")
  }
  const take = async (table: Table) => {
    const current = edge.table.generation
    if (table.generation < current) {
      throw new Conflict(`generation ${table.generation} is older than ${current}, which is in use`, "stale_generation")
    }
    await write(table)
    edge.swapTable(table)
    edge.log.info({ generation: table.generation, routes: table.routes.length }, "table taken")
  }
  return (table) => inTurn(() => take(table))
}

/** Listens; on a Unix socket only this user may connect, since whoever can send a table decides where every request goes. */
export async function listenForAdmin(edge: Edge, parts: AdminParts): Promise<Server> {
  const server = createAdaptorServer({ fetch: adminApp(edge, parts).fetch }) as Server
  const { adminAddress } = edge.config
  const path = unixPathOf(adminAddress)
  const listening = once(server, "listening")
  if (path === undefined) server.listen(connectOptions(adminAddress))
  else {
    await rm(path, { force: true })
    // Node binds a path within this call, so no other file is created with this umask.
    const mask = process.umask(0o177)
    server.listen(path)
    process.umask(mask)
  }
  await listening
  return server
}
