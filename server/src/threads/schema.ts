/** What a request and a reply about threads look like (agent-server-api §2.4, §2.6, §5). */
import { z } from "zod"
import { queryFlag, uuid } from "../http/parameters.js"

export const threadParams = z.object({ thread_id: uuid })

export const newThread = z.object({
  thread_id: uuid.nullish(),
  metadata: z.record(z.string(), z.unknown()).nullish(),
  if_exists: z.enum(["raise", "do_nothing"]).nullish(),
})

export const stateQuery = z.object({ subgraphs: queryFlag })

const limit = z.coerce.number().int().min(1).max(1000).default(10)

// An id that none can have would compare as later than all, and give the newest page again and again.
export const historyQuery = z.object({ limit, before: uuid.optional() })

// SDKs send `before` as an id or as a config that holds one (agent-server-api §5.13).
const checkpointId = z.union([
  uuid,
  z
    .looseObject({
      checkpoint_id: uuid.nullish(),
      configurable: z.looseObject({ checkpoint_id: uuid }).nullish(),
    })
    .transform((config) => config.checkpoint_id ?? config.configurable?.checkpoint_id),
])

export const historyBody = z.object({
  limit: z.int().min(1).max(1000).default(10),
  before: checkpointId.nullish(),
  metadata: z.record(z.string(), z.unknown()).nullish(),
  checkpoint: z.looseObject({ checkpoint_ns: z.string().nullish() }).nullish(),
})

export const thread = z
  .object({
    thread_id: z.string(),
    created_at: z.string(),
    updated_at: z.string(),
    state_updated_at: z.string(),
    metadata: z.record(z.string(), z.unknown()),
    config: z.record(z.string(), z.unknown()),
    status: z.enum(["idle", "busy", "interrupted", "error"]),
    values: z.unknown().nullable(),
    interrupts: z.record(z.string(), z.array(z.unknown())),
    error: z.unknown().nullable(),
  })
  .meta({ id: "Thread" })

export const threadState = z
  .object({
    values: z.unknown(),
    next: z.array(z.string()),
    tasks: z.array(z.unknown()),
    metadata: z.unknown().optional(),
    created_at: z.string().nullable(),
    checkpoint: z.unknown().nullable(),
    parent_checkpoint: z.unknown().nullable(),
    interrupts: z.array(z.unknown()).optional(),
  })
  .meta({ id: "ThreadState" })
