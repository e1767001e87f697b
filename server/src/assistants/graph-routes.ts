import { jsonResponse } from "@superstep/toolkit/http/json"
import { type Api, addRoute } from "@superstep/toolkit/http/route"
import { callerOf } from "../http/caller-of.js"
import { type AssistantGraphs, drawGraph, getSchemas, getSubgraphs } from "./graph-operations.js"
import {
  assistantParams,
  drawing,
  drawQuery,
  graphSchemas,
  subgraphParams,
  subgraphQuery,
  subgraphs,
} from "./schema.js"

const tags = ["Assistants"]
const missing = {
  404: { description: "No such assistant, or the server does not have its graph" },
  409: { description: "The graph did not load, or its code failed" },
}

export function addAssistantGraphRoutes(api: Api, parts: AssistantGraphs): void {
  const path = "/assistants/{assistant_id}"
  addRoute(api, {
    method: "get",
    lasts: "long",
    path: `${path}/graph`,
    summary: "Get the nodes and edges of an assistant's graph",
    tags,
    params: assistantParams,
    query: drawQuery,
    responses: {
      200: { description: "The graph", schema: drawing },
      ...missing,
      422: { description: "Invalid input" },
    },
    handle: async ({ c, params, query }) =>
      jsonResponse(await drawGraph(parts, callerOf(c), params.assistant_id, query.xray)),
  })
  addRoute(api, {
    method: "get",
    lasts: "long",
    path: `${path}/schemas`,
    summary: "Get the schemas of an assistant's graph",
    tags,
    params: assistantParams,
    responses: {
      200: { description: "JSON Schemas; null for unknown schemas", schema: graphSchemas },
      ...missing,
    },
    handle: async ({ c, params }) => jsonResponse(await getSchemas(parts, callerOf(c), params.assistant_id)),
  })
  const subgraphSpec = {
    tags,
    query: subgraphQuery,
    responses: { 200: { description: "Schemas by namespace", schema: subgraphs }, ...missing },
  }
  addRoute(api, {
    ...subgraphSpec,
    method: "get",
    lasts: "long",
    path: `${path}/subgraphs`,
    summary: "Get the graphs inside an assistant's graph",
    params: assistantParams,
    handle: async ({ c, params, query }) => {
      const asked = { namespace: undefined, recurse: query.recurse }
      return jsonResponse(await getSubgraphs(parts, callerOf(c), params.assistant_id, asked))
    },
  })
  addRoute(api, {
    ...subgraphSpec,
    method: "get",
    lasts: "long",
    path: `${path}/subgraphs/{namespace}`,
    summary: "Get one graph inside an assistant's graph",
    params: subgraphParams,
    handle: async ({ c, params: { assistant_id, namespace }, query: { recurse } }) =>
      jsonResponse(await getSubgraphs(parts, callerOf(c), assistant_id, { namespace, recurse })),
  })
}
