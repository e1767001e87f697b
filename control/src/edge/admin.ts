/** What the control plane says to the edge, over a Unix socket (protocol/edge, "Admin socket"). Every request shows the token. */
import { once } from "node:events"
import { rm } from "node:fs/promises"
import type { Server } from "node:http"
import { createAdaptorServer } from "@hono/node-server"
import { Conflict, Unauthenticated } from "@superstep/toolkit/errors/errors"
import { errorHandler } from "@superstep/toolkit/http/errors"
import { addRoute, createApi } from "@superstep/toolkit/http/route"
import { z } from "zod"
import type { Edge } from "./edge.js"
import { showsToken } from "./edge-token.js"
import type { Succession } from "./succession.js"
import { type Table, tableSchema } from "./table.js"
import { writeTableFile } from "./table-file.js"

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

export const statusSchema = z.object({
  pid: z.number(),
  generation: z.number(),
  /** What it was started with, as whoever started it names that; an older edge does not tell. */
  command: z.string().default(""),
  units: z.record(z.string(), counts),
  /** Since the edge started; an older edge tells none. */
  deployments: z.record(z.string(), tally).default({}),
})
export const takenSchema = z.object({ generation: z.number() })

export const startedSchema = z.object({ pid: z.number() })

function adminApp(edge: Edge, succession: Succession) {
  const api = createApi()
  api.onError(errorHandler({ log: edge.log, detail: "list" }))
  api.use("*", async (c, next) => {
    if (!showsToken(c.req.header("authorization"), edge.config.token))
      throw new Unauthenticated("the edge's token is missing or wrong")
    await next()
  })
  const take = tableTaker(edge)

  addRoute(
    api,
    {
      method: "put",
      path: "/table",
      summary: "Use this table for every request that arrives from now on",
      body: tableSchema,
      responses: { 200: { description: "in use", schema: takenSchema }, 409: { description: "a newer one is in use" } },
    },
    async ({ c, body }) => {
      await take(body)
      return c.json({ generation: body.generation })
    },
  )
  addRoute(
    api,
    {
      method: "get",
      path: "/status",
      summary: "What is open at this moment, also on units that left the table",
      responses: { 200: { description: "the status", schema: statusSchema } },
    },
    ({ c }) => {
      const units = edge.counters.snapshot(edge.table.units.map(({ unit_id }) => unit_id))
      const deployments = edge.tallies.snapshot()
      const { command } = edge.config
      return c.json({ pid: process.pid, generation: edge.table.generation, command, units, deployments })
    },
  )
  addRoute(
    api,
    {
      method: "post",
      path: "/successor",
      summary: "Start an edge that listens on the same socket",
      responses: { 201: { description: "it was started", schema: startedSchema } },
    },
    async ({ c }) => c.json({ pid: await succession.start() }, 201),
  )
  addRoute(
    api,
    {
      method: "post",
      path: "/retire",
      summary: "Leave new connections to the successor, and end when nothing is open any more",
      responses: { 202: { description: "it ends by itself" } },
    },
    ({ c }) => {
      succession.retire()
      return c.body(null, 202)
    },
  )
  return api
}

/** Tables are taken one after the other; each is on disk before it is used, so that a restart never goes back. */
function tableTaker(edge: Edge): (table: Table) => Promise<void> {
  let last: Promise<unknown> = Promise.resolve()
  const take = async (table: Table) => {
    const current = edge.table.generation
    if (table.generation < current) {
      throw new Conflict(`generation ${table.generation} is older than ${current}, which is in use`, "stale_generation")
    }
    await writeTableFile(edge.config.tablePath, table)
    edge.swapTable(table)
    edge.log.info({ generation: table.generation, routes: table.routes.length }, "table taken")
  }
  return (table) => {
    const taken = last.then(() => take(table))
    // The next in line does not care how this one ended; its own caller is told.
    last = taken.catch(() => undefined)
    return taken
  }
}

/** Listens where only this user may connect: who can send a table decides where every request goes. */
export async function listenForAdmin(edge: Edge, succession: Succession): Promise<Server> {
  const server = createAdaptorServer({ fetch: adminApp(edge, succession).fetch }) as Server
  await rm(edge.config.adminSocket, { force: true })
  const listening = once(server, "listening")
  // Node binds a path within this call, so no other file is made under this mask.
  const mask = process.umask(0o177)
  server.listen(edge.config.adminSocket)
  process.umask(mask)
  await listening
  return server
}
