/** Schemas of requests and responses about the store (agent-server-api §2.10, §9), and of the operations of graphs. */
import { isPlainText } from "@superstep/toolkit/text/storable"
import { z } from "zod"
import { jsonObject, plainText, queryFlag } from "../http/parameters.js"

const namespace = z.array(z.string())

// About 1900 years. Postgres' timestamps go further, but not as far as a JSON number.
const maxMinutes = 1e9
export const ttl = z.number().positive().max(maxMinutes)

// A path is part of the key of each vector. `$` alone is the whole value.
const fieldPath = z.string().min(1).max(200).refine(isPlainText, "expected text without U+0000")
export const index = z.union([z.literal(false), z.array(fieldPath).max(50)], {
  error: "expected false, or a list of at most 50 paths",
})

const page = (usual: number) => ({
  limit: z
    .int()
    .min(1)
    .max(1000)
    .nullish()
    .transform((limit) => limit ?? usual),
  offset: z
    .int()
    .min(0)
    .max(2 ** 31 - 1)
    .nullish()
    .transform((offset) => offset ?? 0),
})

const refresh = { refresh_ttl: z.boolean().nullish() }

export const newItem = z.object({
  namespace,
  key: plainText,
  value: jsonObject,
  index: index.nullish(),
  ttl: ttl.nullish(),
  if_value: jsonObject
    .nullable()
    .optional()
    .describe(
      "The value that the client has read, or null if it found no item (extension): 409 if another one is stored now. An item that is replaced keeps a ttl and an index that the request leaves out",
    ),
})

// SDKs join labels by dots; the official OpenAPI document also allows to repeat the parameter for each label.
export const itemQuery = z.object({
  namespace: z
    .union([z.string(), z.array(z.string())])
    .optional()
    .transform((text) => (Array.isArray(text) ? text : text ? text.split(".") : [])),
  key: plainText,
  refresh_ttl: z
    .string()
    .optional()
    .transform((text) => (text === undefined ? undefined : queryFlag.parse(text))),
})

export const itemToDelete = z.object({ namespace: namespace.nullish(), key: plainText })

export const itemSearch = z.object({
  namespace_prefix: namespace.nullish(),
  filter: jsonObject.nullish(),
  query: z.string().nullish(),
  ...page(10),
  ...refresh,
})

export const namespaceSearch = z.object({
  prefix: namespace.nullish(),
  suffix: namespace.nullish(),
  max_depth: z.int().positive().nullish(),
  ...page(100),
})

// The values that access rules get and may change (agent-server-api §12.3).
export const askedPut = newItem.omit({ if_value: true })
export const askedItem = z.object({ namespace, key: plainText, ...refresh })
export const askedSearch = z.object({
  namespace,
  filter: jsonObject.nullish(),
  query: z.string().nullish(),
  ...page(10),
  ...refresh,
})
export const askedNamespaces = z.object({
  namespace: namespace.nullish(),
  suffix: namespace.nullish(),
  max_depth: z.int().positive().nullish(),
  ...page(100),
})

// A graph may ask for as many as it can hold.
const anyPage = { limit: z.int().nonnegative().nullish(), offset: z.int().nonnegative().nullish() }
const matchCondition = z.object({ match_type: z.enum(["prefix", "suffix"]), path: namespace })

/** An operation of LangGraph's `BaseStore.batch`, as a worker sends it (protocol/worker, "Calls of a worker: store"). */
export const storeOperation = z.discriminatedUnion("op", [
  z.object({ op: z.literal("get"), namespace, key: z.string(), ...refresh }),
  z.object({
    op: z.literal("search"),
    namespace_prefix: namespace,
    filter: jsonObject.nullish(),
    query: z.string().nullish(),
    ...anyPage,
    ...refresh,
  }),
  z.object({
    op: z.literal("put"),
    namespace,
    key: z.string(),
    value: jsonObject.nullable(),
    index: index.nullish(),
    ttl: ttl.nullish(),
  }),
  z.object({
    op: z.literal("list_namespaces"),
    match_conditions: z.array(matchCondition).nullish(),
    max_depth: z.int().positive().nullish(),
    ...anyPage,
  }),
])
export type StoreOperation = z.output<typeof storeOperation>

export const item = z
  .object({
    namespace: z.array(z.string()),
    key: z.string(),
    value: jsonObject,
    created_at: z.string(),
    updated_at: z.string(),
    score: z.number().optional(),
  })
  .meta({ id: "Item" })

export const foundItems = z.object({ items: z.array(item) })
export const foundNamespaces = z.object({ namespaces: z.array(z.array(z.string())) })
