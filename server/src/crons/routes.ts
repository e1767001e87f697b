import { jsonResponse } from "@superstep/toolkit/http/json"
import { type Api, addRoute } from "@superstep/toolkit/http/route"
import type { Context } from "hono"
import { z } from "zod"
import { callerOf } from "../http/caller-of.js"
import { pageHeaders } from "../http/pagination.js"
import { once, toResponse } from "../idempotency/once.js"
import { answerOf, createOnce, type RunRoutes } from "../runs/creating-routes.js"
import { run, threadParams } from "../runs/schema.js"
import { type CronField, cronFields, renderCron } from "./cron.js"
import { bodyOf } from "./firing.js"
import {
  announceCronsChanged,
  type Crons,
  countCrons,
  deleteCron,
  getCron,
  prepareCron,
  searchCrons,
  updateCron,
} from "./operations.js"
import { cron, cronCount, cronFound, cronParams, cronPatch, cronSearch, type NewCronBody, newCron } from "./schema.js"

const tags = ["Crons"]
const theCron = { 200: { description: "The cron", schema: cron } }
const noSuchCron = { 404: { description: "No such cron" } }
const invalid = { 422: { description: "Invalid input" } }

export function addCronRoutes(api: Api, crons: Crons & RunRoutes): void {
  addRoute(api, {
    method: "post",
    path: "/runs/crons",
    summary: "Create a cron whose runs get threads of their own",
    tags,
    body: newCron,
    responses: { ...theCron, 404: { description: "No such assistant" }, ...invalid },
    handle: ({ c, body, bodyText }) => createCron(crons, { c, bodyText, threadId: undefined, body }),
  })
  addRoute(api, {
    method: "post",
    path: "/threads/{thread_id}/runs/crons",
    summary: "Create a cron that runs on a thread",
    tags,
    params: threadParams,
    body: newCron,
    responses: { ...theCron, 404: { description: "No such thread or assistant" }, ...invalid },
    handle: ({ c, params, body, bodyText }) => createCron(crons, { c, bodyText, threadId: params.thread_id, body }),
  })
  addSearchRoutes(api, crons)
  addRoute(api, {
    method: "get",
    path: "/runs/crons/{cron_id}",
    summary: "Get a cron",
    tags,
    params: cronParams,
    responses: { ...theCron, ...noSuchCron, ...invalid },
    handle: async ({ c, params }) => jsonResponse(renderCron(await getCron(crons, callerOf(c), params.cron_id))),
  })
  addRoute(api, {
    method: "patch",
    path: "/runs/crons/{cron_id}",
    summary: "Change a cron",
    tags,
    params: cronParams,
    body: cronPatch,
    responses: { ...theCron, ...noSuchCron, ...invalid },
    handle: async ({ c, params, body }) =>
      jsonResponse(renderCron(await updateCron(crons, callerOf(c), params.cron_id, body))),
  })
  addRoute(api, {
    method: "delete",
    path: "/runs/crons/{cron_id}",
    summary: "Delete a cron",
    tags,
    params: cronParams,
    responses: { 204: { description: "It is gone; runs that it created stay" }, ...noSuchCron, ...invalid },
    handle: async ({ c, params }) => {
      await deleteCron(crons, callerOf(c), params.cron_id)
      return new Response(null, { status: 204 })
    },
  })
  addRoute(api, {
    method: "post",
    path: "/runs/crons/{cron_id}/run",
    summary: "Create a run of a cron now; its next due time stays as it is",
    lasts: "long",
    tags,
    params: cronParams,
    responses: {
      200: { description: "The run", schema: run },
      404: { description: "No such cron, or its assistant or thread is gone" },
      409: { description: "Its thread is busy, and its strategy is to reject" },
      ...invalid,
    },
    handle: async ({ c, params, bodyText }) => {
      const cron = await getCron(crons, callerOf(c), params.cron_id)
      const threadId = cron.thread_id ?? undefined
      const made = await createOnce(crons, { c, bodyText, threadId }, { body: bodyOf(cron) })
      return "row" in made
        ? toResponse(answerOf(made.row, threadId === undefined), false)
        : toResponse(made.answer, true)
    },
  })
}

async function createCron(
  crons: Crons,
  { c, bodyText, threadId, body }: { c: Context; bodyText: string; threadId: string | undefined; body: NewCronBody },
): Promise<Response> {
  const reply = await once(crons.db, { c, bodyText }, async () => {
    const create = await prepareCron(crons, callerOf(c), threadId, body)
    return async (db) => jsonResponse(renderCron(await create(db)))
  })
  announceCronsChanged(crons)
  return reply
}

function addSearchRoutes(api: Api, crons: Crons): void {
  addRoute(api, {
    method: "post",
    path: "/runs/crons/search",
    summary: "Search crons",
    tags,
    body: cronSearch,
    responses: { 200: { description: "A page of crons", schema: z.array(cronFound) }, ...invalid },
    handle: async ({ c, body }) => {
      const { crons: found, total, page } = await searchCrons(crons, callerOf(c), body)
      const isField = (name: string): name is CronField => (cronFields as readonly string[]).includes(name)
      const select = body.select?.length ? body.select.filter(isField) : undefined
      return jsonResponse(
        found.map((row) => renderCron(row, select)),
        200,
        pageHeaders(page, total),
      )
    },
  })
  addRoute(api, {
    method: "post",
    path: "/runs/crons/count",
    summary: "Count crons",
    tags,
    body: cronCount,
    responses: { 200: { description: "How many match", schema: z.int() }, ...invalid },
    handle: async ({ c, body }) => jsonResponse(await countCrons(crons, callerOf(c), body)),
  })
}
