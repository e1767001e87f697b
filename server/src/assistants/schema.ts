/** Schemas of requests and responses about assistants (agent-server-api §2.3, §4). */
import { z } from "zod"
import { pageFields, pageQueryFields } from "../http/pagination.js"
import { jsonObject, plainText, queryFlag, uuid } from "../http/parameters.js"
import { assistantFields } from "./assistant.js"

/** Null means the same as absent: a graph must not get `null` as its limit. */
const config = z
  .looseObject({
    tags: z.array(z.string()).nullish(),
    recursion_limit: z.int().positive().nullish(),
    configurable: jsonObject.nullish(),
    metadata: jsonObject.nullish(),
  })
  .transform((fields) => Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null)))

// Longer than any real name, and far below what an index or a page cannot handle.
const name = plainText.max(1000)
const description = plainText.max(100_000)

export const newAssistant = z
  .object({
    graph_id: plainText,
    assistant_id: uuid.nullish(),
    config: config.nullish(),
    context: jsonObject.nullish(),
    metadata: jsonObject.nullish(),
    if_exists: z.enum(["raise", "do_nothing"]).nullish(),
    name: name.nullish(),
    description: description.nullish(),
  })
  .meta({ id: "AssistantCreate" })
export type NewAssistantBody = z.output<typeof newAssistant>

export const assistantPatch = z
  .object({
    graph_id: plainText.nullish(),
    config: config.nullish(),
    context: jsonObject.nullish(),
    metadata: jsonObject.nullish(),
    name: name.nullish(),
    description: description.nullish(),
  })
  .meta({ id: "AssistantPatch" })
export type AssistantPatchBody = z.output<typeof assistantPatch>

const filters = { metadata: jsonObject.nullish(), graph_id: plainText.nullish(), name: plainText.nullish() }

const sortFields = ["assistant_id", "graph_id", "name", "created_at", "updated_at"] as const
const order = { sort_by: z.enum(sortFields).nullish(), sort_order: z.enum(["asc", "desc"]).nullish() }

export const assistantSearch = z
  .object({ ...filters, ...order, ...pageFields, select: z.array(z.enum(assistantFields)).nullish() })
  .meta({ id: "AssistantSearchRequest" })
export type AssistantSearchBody = z.output<typeof assistantSearch>

export const assistantList = z.object({
  graph_id: plainText.optional(),
  name: plainText.optional(),
  sort_by: z.enum(sortFields).optional(),
  sort_order: z.enum(["asc", "desc"]).optional(),
  ...pageQueryFields,
})

export const assistantCount = z.object(filters).meta({ id: "AssistantCountRequest" })
export type AssistantCountBody = z.output<typeof assistantCount>

/** An assistant's id, or its graph's id. */
export const assistantParams = z.object({ assistant_id: z.string().min(1) })

export const deleteQuery = z.object({ delete_threads: queryFlag })

export const versionSearch = z
  .object({ metadata: jsonObject.nullish(), ...pageFields })
  .meta({ id: "AssistantVersionsRequest" })

// Versions are counted in four bytes.
const maxVersion = 2 ** 31 - 1
const version = z.int().min(1).max(maxVersion)

/** The SDKs send the version in the body, an older description of the API has it in the query (§4.11). */
export const latestBody = z.object({ version: version.nullish() }).meta({ id: "AssistantLatestRequest" })
export const latestQuery = z.object({ version: z.coerce.number().pipe(version).optional() })

export const assistant = z
  .object({
    assistant_id: z.string(),
    graph_id: z.string(),
    name: z.string(),
    description: z.string().nullable(),
    config: jsonObject,
    context: jsonObject,
    metadata: jsonObject,
    version: z.int(),
    created_at: z.string(),
    updated_at: z.string(),
  })
  .meta({ id: "Assistant" })

/** An item of a search: the selected fields. */
export const someOfAssistant = assistant.partial()
export const assistantVersion = assistant.omit({ updated_at: true }).meta({ id: "AssistantVersion" })

// No real graph is nested deeper, and drawing a level walks through all levels above.
const maxLevels = 100

/** `true`, or how many levels of subgraphs are drawn too (§4.7). */
export const drawQuery = z.object({
  xray: z
    .string()
    .regex(/^(true|false|yes|no|\d{1,3}|)$/i, "expected true, false or a number of levels")
    .default("false")
    .transform((text): boolean | number => {
      if (/^\d+$/.test(text)) return text === "0" ? false : Math.min(Number(text), maxLevels)
      return /^(true|yes)$/i.test(text)
    }),
})

export const drawing = z
  .object({
    nodes: z.array(z.looseObject({ id: z.union([z.string(), z.int()]), type: z.string(), data: z.unknown() })),
    edges: z.array(
      z.object({
        source: z.string(),
        target: z.string(),
        data: z.unknown().optional(),
        conditional: z.boolean().optional(),
      }),
    ),
  })
  .meta({ id: "Graph" })

export const subgraphParams = assistantParams.extend({ namespace: z.string().min(1) })
export const subgraphQuery = z.object({ recurse: queryFlag })

const jsonSchema = jsonObject.nullable()
export const graphSchemas = z
  .object({
    graph_id: z.string(),
    input_schema: jsonSchema,
    output_schema: jsonSchema,
    state_schema: jsonSchema,
    config_schema: jsonSchema,
    context_schema: jsonSchema,
    is_incomplete: z
      .boolean()
      .optional()
      .describe("True when the source could not be read this time: a null may be a schema that is not yet known"),
  })
  .meta({ id: "GraphSchema" })
export const subgraphs = z.record(z.string(), graphSchemas.loose())
