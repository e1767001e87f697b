/** Schemas of requests and responses about a thread's state (agent-server-api §2.5, §2.6, §5.10–5.13). */
import { z } from "zod"
import { jsonObject, plainText, queryFlag, queryList, uuid } from "../http/parameters.js"
import type { StatePlace } from "./state-operations.js"

export const stateParams = z.object({ thread_id: uuid, checkpoint_id: uuid })

const stateField = z
  .string()
  .regex(
    /^(values(\..+)?|next|tasks|checkpoint|metadata|created_at|parent_checkpoint|interrupts)$/s,
    "expected values, values.<key>, next, tasks, checkpoint, metadata, created_at, parent_checkpoint or interrupts",
  )

// An empty list selects everything, like the clients' defaults.
const select = z
  .array(stateField)
  .nullish()
  .transform((fields) => (fields && fields.length > 0 ? fields : undefined))

export const stateQuery = z.object({ subgraphs: queryFlag, select: queryList(stateField) })

/** A reference to a checkpoint of the thread in the path. */
const checkpoint = z
  .looseObject({
    checkpoint_id: uuid.nullish(),
    checkpoint_ns: plainText.nullish(),
    checkpoint_map: z.record(z.string(), plainText).nullish(),
  })
  .transform(
    ({ checkpoint_id, checkpoint_ns, checkpoint_map }): StatePlace => ({
      checkpointId: checkpoint_id ?? undefined,
      checkpointNs: checkpoint_ns ?? "",
      checkpointMap: checkpoint_map ?? undefined,
    }),
  )

export const stateAtCheckpoint = z.object({
  checkpoint,
  subgraphs: z
    .union([z.boolean(), queryFlag])
    .nullish()
    .transform((flag) => flag ?? false),
  select,
})

const limit = z.coerce.number().int().min(1).max(1000).default(10)

// `before` must be a UUID: another text would compare as later than every id, and return the newest page again and again.
export const historyQuery = z.object({
  limit,
  before: uuid.optional(),
  checkpoint_ns: plainText.optional(),
  select: queryList(stateField),
})

// SDKs send `before` as an id or as a config that contains one (agent-server-api §5.13).
const checkpointId = z.union([
  uuid,
  z
    .looseObject({
      checkpoint_id: uuid.nullish(),
      configurable: z.looseObject({ checkpoint_id: uuid.nullish() }).nullish(),
    })
    .transform((config) => config.checkpoint_id ?? config.configurable?.checkpoint_id),
])

export const historyBody = z.object({
  limit: z
    .int()
    .min(1)
    .max(1000)
    .nullish()
    .transform((given) => given ?? 10),
  before: checkpointId.nullish(),
  metadata: jsonObject.nullish(),
  checkpoint: checkpoint.nullish(),
  select,
})

const values = z.union([jsonObject, z.array(z.unknown())], {
  error: "expected an object, a list, or null",
})

const command = z.looseObject({
  goto: z.unknown().optional(),
  update: z.unknown().optional(),
  resume: z.unknown().optional(),
})

export const stateUpdate = z.object({
  values: values.nullish(),
  as_node: z.string().min(1).nullish(),
  checkpoint_id: uuid.nullish(),
  checkpoint: checkpoint.nullish(),
})

export const supersteps = z.array(
  z.object({
    updates: z
      .array(z.object({ values: values.nullish(), command: command.nullish(), as_node: z.string().min(1) }))
      .min(1),
  }),
)

export const updatedState = z
  .object({
    checkpoint: z.looseObject({ thread_id: z.string(), checkpoint_ns: z.string(), checkpoint_id: z.string() }),
  })
  .meta({ id: "ThreadStateUpdate" })

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
  .partial()
  .meta({ id: "ThreadState" })
