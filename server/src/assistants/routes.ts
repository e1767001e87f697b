import { InvalidInput } from "@superstep/toolkit/errors/errors"
import { jsonResponse } from "@superstep/toolkit/http/json"
import { type Api, addRoute } from "@superstep/toolkit/http/route"
import { z } from "zod"
import { callerOf } from "../http/caller-of.js"
import { pageHeaders } from "../http/pagination.js"
import { once } from "../idempotency/once.js"
import { renderAssistant } from "./assistant.js"
import { type AssistantDeletion, deleteAssistant } from "./delete-operations.js"
import {
  countAssistants,
  getAssistant,
  getVersions,
  prepareAssistant,
  prepareUpdate,
  searchAssistants,
  setLatest,
} from "./operations.js"
import {
  assistant,
  assistantCount,
  assistantList,
  assistantParams,
  assistantPatch,
  assistantSearch,
  assistantVersion,
  deleteQuery,
  latestBody,
  latestQuery,
  newAssistant,
  someOfAssistant,
  versionSearch,
} from "./schema.js"

const tags = ["Assistants"]
const invalid = { 422: { description: "Invalid input" } }
const missing = { 404: { description: "No such assistant" } }
const one = { 200: { description: "The assistant", schema: assistant } }

export function addAssistantRoutes(api: Api, parts: AssistantDeletion): void {
  addRoute(api, {
    method: "post",
    path: "/assistants",
    summary: "Create an assistant",
    tags,
    body: newAssistant,
    responses: {
      ...one,
      404: { description: "No such graph" },
      409: { description: "The id is taken" },
      ...invalid,
    },
    handle: async ({ c, body, bodyText }) =>
      once(parts.db, { c, bodyText }, async () => {
        const create = await prepareAssistant(parts, callerOf(c), body)
        return async (db) => jsonResponse(renderAssistant(await create(db)))
      }),
  })
  addSearchRoutes(api, parts)
  const path = "/assistants/{assistant_id}"
  const params = assistantParams
  addRoute(api, {
    method: "get",
    path,
    summary: "Get an assistant",
    tags,
    params,
    responses: { ...one, ...missing },
    handle: async ({ c, params }) =>
      jsonResponse(renderAssistant(await getAssistant(parts, callerOf(c), params.assistant_id))),
  })
  addRoute(api, {
    method: "patch",
    path,
    summary: "Change an assistant, which makes a new version",
    tags,
    params,
    body: assistantPatch,
    responses: { ...one, ...missing, ...invalid },
    handle: async ({ c, params, body, bodyText }) =>
      once(parts.db, { c, bodyText }, async () => {
        const update = await prepareUpdate(parts, callerOf(c), params.assistant_id, body)
        return async (db) => jsonResponse(renderAssistant(await update(db)))
      }),
  })
  addRoute(api, {
    method: "delete",
    path,
    summary: "Delete an assistant",
    lasts: "long",
    tags,
    params,
    query: deleteQuery,
    responses: { 200: { description: "Its id", schema: z.array(z.string()) }, ...missing },
    handle: async ({ c, params, query }) => {
      const options = { deleteThreads: query.delete_threads }
      return jsonResponse([await deleteAssistant(parts, callerOf(c), params.assistant_id, options)])
    },
  })
  addVersionRoutes(api, parts)
}

function addSearchRoutes(api: Api, parts: AssistantDeletion): void {
  addRoute(api, {
    method: "post",
    path: "/assistants/search",
    summary: "Search assistants",
    tags,
    body: assistantSearch,
    responses: { 200: { description: "A page of them", schema: z.array(someOfAssistant) }, ...invalid },
    handle: async ({ c, body }) => {
      const { rows, total } = await searchAssistants(parts, callerOf(c), body)
      const items = rows.map((row) => renderAssistant(row, body.select ?? undefined))
      return jsonResponse(items, 200, pageHeaders(body, total))
    },
  })
  addRoute(api, {
    method: "post",
    path: "/assistants/count",
    summary: "Count assistants",
    tags,
    body: assistantCount,
    responses: { 200: { description: "How many there are", schema: z.int() }, ...invalid },
    handle: async ({ c, body }) => jsonResponse(await countAssistants(parts, callerOf(c), body)),
  })
  addRoute(api, {
    method: "get",
    path: "/assistants",
    summary: "List assistants",
    tags,
    query: assistantList,
    responses: { 200: { description: "A page of them", schema: z.array(assistant) }, ...invalid },
    handle: async ({ c, query }) => {
      const { rows, total } = await searchAssistants(parts, callerOf(c), query)
      return jsonResponse(
        rows.map((row) => renderAssistant(row)),
        200,
        pageHeaders(query, total),
      )
    },
  })
}

function addVersionRoutes(api: Api, parts: AssistantDeletion): void {
  addRoute(api, {
    method: "post",
    path: "/assistants/{assistant_id}/versions",
    summary: "List the versions of an assistant, newest first",
    tags,
    params: assistantParams,
    body: versionSearch,
    responses: {
      200: { description: "A page of them", schema: z.array(assistantVersion) },
      ...missing,
      ...invalid,
    },
    handle: async ({ c, params, body }) => {
      const query = { metadata: body.metadata ?? undefined, limit: body.limit, offset: body.offset }
      const rows = await getVersions(parts, callerOf(c), params.assistant_id, query)
      return jsonResponse(rows.map((row) => renderAssistant(row)))
    },
  })
  addRoute(api, {
    method: "post",
    path: "/assistants/{assistant_id}/latest",
    summary: "Make a version the current one",
    tags,
    params: assistantParams,
    query: latestQuery,
    body: latestBody,
    responses: { ...one, 404: { description: "No such assistant or version" }, ...invalid },
    handle: async ({ c, params, query, body }) => {
      const version = body.version ?? query.version
      if (version === undefined) {
        throw new InvalidInput([{ path: ["body", "version"], message: "expected a version's number", type: "missing" }])
      }
      return jsonResponse(renderAssistant(await setLatest(parts, callerOf(c), params.assistant_id, version)))
    },
  })
}
