/** Schemas of requests and responses about whole threads (agent-server-api §2.4, §5). Null means the same as absent. */
import { z } from "zod"
import { pageFields } from "../http/pagination.js"
import { jsonObject, plainText, queryList, uuid } from "../http/parameters.js"
import { extractPath } from "./extract.js"
import { supersteps } from "./state-schema.js"
import { threadStatuses } from "./thread.js"

export const threadParams = z.object({ thread_id: uuid })

// A hundred years. A much longer time would give an expiry date that Postgres cannot represent.
const maxMinutes = 52_560_000

const strategy = z.enum(["delete", "keep_latest"])

const ttl = z
  .object({ ttl: z.number().positive().max(maxMinutes), strategy: strategy.nullish() })
  .transform((given) => ({ minutes: given.ttl, strategy: given.strategy ?? ("delete" as const) }))

export const newThread = z.object({
  thread_id: uuid.nullish(),
  metadata: jsonObject.nullish(),
  if_exists: z.enum(["raise", "do_nothing"]).nullish(),
  ttl: ttl.nullish(),
  supersteps: supersteps.nullish(),
})

export const threadChange = z.object({ metadata: jsonObject.nullish(), ttl: ttl.nullish() })

export const threadInclude = z.object({ include: queryList(z.enum(["ttl"])) })

export const prune = z.object({
  thread_ids: z.array(uuid).max(1000),
  strategy: strategy.nullish().transform((given) => given ?? "delete"),
})

// The years that both JavaScript and Postgres can represent.
const moment = z.iso.datetime({ offset: true })

const threadFilter = {
  ids: z.array(uuid).nullish(),
  metadata: jsonObject.nullish(),
  values: jsonObject.nullish(),
  status: z.enum(threadStatuses).nullish(),
  text: plainText.max(1000).nullish().describe("Occurs in the thread's values, in any case (extension)"),
  updated_after: moment.nullish().describe("Updated at this time or later (extension)"),
  updated_before: moment.nullish().describe("Updated before this time (extension)"),
}

export const threadCount = z.object(threadFilter)

const path = z
  .string()
  .max(1000)
  .regex(extractPath, "expected a path below values, metadata, config or interrupts, such as values.messages[-1]")

/** Fields that a search can select. The SDK's list also has `context`, but threads have no context. */
const threadFields = [
  "thread_id",
  "created_at",
  "updated_at",
  "state_updated_at",
  "metadata",
  "config",
  "context",
  "status",
  "values",
  "interrupts",
  "error",
] as const

export const threadSearch = z.object({
  ...threadFilter,
  ...pageFields,
  sort_by: z.enum(["thread_id", "status", "created_at", "updated_at", "state_updated_at"]).nullish(),
  sort_order: z.enum(["asc", "desc"]).nullish(),
  select: z.array(z.enum(threadFields)).nullish(),
  extract: z
    .record(plainText, path)
    .refine((paths) => Object.keys(paths).length <= 10, "expected at most 10 paths")
    .nullish(),
})

export const thread = z
  .object({
    thread_id: z.string(),
    created_at: z.string(),
    updated_at: z.string(),
    state_updated_at: z.string(),
    metadata: jsonObject,
    config: jsonObject,
    status: z.enum(threadStatuses),
    values: z.unknown().nullable(),
    interrupts: z.record(z.string(), z.array(z.unknown())),
    error: z.unknown().nullable(),
    ttl: z
      .object({ strategy, ttl_minutes: z.number(), expires_at: z.string() })
      .nullable()
      .optional()
      .describe("With include=ttl: when the thread ends, null for one that stays"),
  })
  .meta({ id: "Thread" })

/** An item of a search: a thread, or its selected fields. */
export const foundThread = thread.partial().extend({ extracted: jsonObject.optional() }).meta({ id: "FoundThread" })

const sizes = { count: z.int(), bytes: z.int() }

export const storage = z
  .object({
    thread_id: z.string(),
    total_bytes: z.int(),
    checkpoints: z.object(sizes),
    channel_values: z.object({
      ...sizes,
      by_channel: z.record(z.string(), z.object({ versions: z.int(), bytes: z.int() })),
    }),
    pending_writes: z.object(sizes),
  })
  .meta({ id: "ThreadStorage" })
