/** What a project says about the assistants of its graphs (agent-server-api §2.3). Pure. */
import { InvalidInput } from "@superstep/toolkit/errors/errors"
import { checkExact } from "@superstep/toolkit/http/exact-number"
import { parseJson } from "@superstep/toolkit/http/json"
import { z } from "zod"
import { jsonObject } from "../http/parameters.js"
import type { GraphDefaults } from "./assistant.js"

const graphConfigs = z.record(
  z.string(),
  z
    .looseObject({
      configurable: jsonObject.optional(),
      metadata: jsonObject.optional(),
      tags: z.array(z.string()).optional(),
      recursion_limit: z.int().positive().optional(),
      context: z.unknown().optional(),
    })
    .transform(({ context, ...config }) => ({ config, ...(context !== undefined && { context }) })),
)

/**
 * @param descriptions    what `langgraph.json` says of each graph
 * @param configVariable  `LANGGRAPH_CONFIG`: JSON, `{graph_id: {configurable, context, …}}`
 * @throws InvalidInput   when that is no such JSON
 */
export function graphDefaults(
  descriptions: Readonly<Record<string, { readonly description: string | undefined }>>,
  configVariable: string | undefined,
): Readonly<Record<string, GraphDefaults>> {
  const configs = configVariable ? parsed(configVariable) : {}
  return Object.fromEntries(
    Object.entries(descriptions).map(([graphId, { description }]) => [graphId, { description, ...configs[graphId] }]),
  )
}

function parsed(text: string): z.output<typeof graphConfigs> {
  const { result } = checkExact(graphConfigs, jsonOf(text))
  if (result.success) return result.data
  throw new InvalidInput(
    result.error.issues.map(({ path, message }) => ({
      path: ["LANGGRAPH_CONFIG", ...path.map(String)],
      message,
      type: "value_error",
    })),
    "invalid_config",
  )
}

function jsonOf(text: string): unknown {
  try {
    return parseJson(text)
  } catch {
    // What is not JSON is reported as a wrong value by the schema that reads it.
    return undefined
  }
}
