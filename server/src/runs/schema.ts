/** What a request and a reply about runs look like (agent-server-api §2.8, §2.13, §6.1). */
import { z } from "zod"
import { queryFlag, queryList, uuid } from "../http/parameters.js"
import { multitaskStrategies, streamModes } from "./run.js"

const anObject = z.record(z.string(), z.unknown())

const streamMode = z.enum(streamModes)
const nodeNames = z.union([z.literal("*"), z.array(z.string())], 'expected "*" or a list of node names')

const send = z.object({ node: z.string(), input: z.unknown().optional() })
const command = z
  .object({
    update: z.union([anObject, z.array(z.tuple([z.string(), z.unknown()]))]).nullish(),
    resume: z.unknown().optional(),
    goto: z.union([z.string(), send, z.array(z.union([z.string(), send]))]).nullish(),
  })
  .meta({ id: "Command" })

const config = z.looseObject({
  tags: z.array(z.string()).nullish(),
  recursion_limit: z.int().positive().nullish(),
  configurable: anObject.nullish(),
  metadata: anObject.nullish(),
})

/** The body of every route that creates a run. Null means the same as absent. */
export const newRun = z
  .object({
    assistant_id: z.string(),
    input: z.unknown().optional(),
    command: command.nullish(),
    metadata: anObject.nullish(),
    config: config.nullish(),
    context: anObject.nullish(),
    stream_mode: z.union([streamMode, z.array(streamMode)]).nullish(),
    stream_subgraphs: z.boolean().nullish(),
    stream_resumable: z.boolean().nullish(),
    interrupt_before: nodeNames.nullish(),
    interrupt_after: nodeNames.nullish(),
    checkpoint: anObject.nullish(),
    checkpoint_id: z.string().nullish(),
    multitask_strategy: z.enum(multitaskStrategies).nullish(),
    if_not_exists: z.enum(["create", "reject"]).nullish(),
    on_disconnect: z.enum(["cancel", "continue"]).nullish(),
    on_completion: z.enum(["delete", "keep"]).nullish(),
    after_seconds: z.number().min(0).max(31_536_000).nullish(),
    durability: z.enum(["sync", "async", "exit"]).nullish(),
    checkpoint_during: z.boolean().nullish(),
    // Addresses for feedback are LangSmith's to give: without it there is no event (agent-server-api §7.8).
    feedback_keys: z.array(z.string()).nullish(),
    // Accepting one and never calling it would be worse than saying so.
    webhook: z.null("webhooks are not supported yet: leave it out").optional(),
  })
  .meta({ id: "RunCreate" })
export type NewRunBody = z.output<typeof newRun>

export const threadParams = z.object({ thread_id: uuid })
export const runParams = z.object({ thread_id: uuid, run_id: uuid })

/** Whose events are streamed; a namespace may hold a comma, so a list is only ever repeated keys (agent-server-api §6.1). */
const namespaces = z
  .union([z.string(), z.array(z.string())])
  .optional()
  .transform((value) => (value === undefined ? undefined : [value].flat()))
  .meta({ type: "array", items: { type: "string" } })

export const streamQuery = z.object({ namespace: namespaces })

export const joinQuery = z.object({
  cancel_on_disconnect: queryFlag,
  stream_mode: queryList(z.string()),
  namespace: namespaces,
})

export const cancelQuery = z.object({
  wait: queryFlag,
  action: z.enum(["interrupt", "rollback"]).default("interrupt"),
})

export const run = z
  .object({
    run_id: z.string(),
    thread_id: z.string(),
    assistant_id: z.string(),
    created_at: z.string(),
    updated_at: z.string(),
    status: z.enum(["pending", "running", "success", "error", "timeout", "interrupted"]),
    metadata: anObject,
    kwargs: anObject,
    multitask_strategy: z.enum(multitaskStrategies),
    attempt: z.int(),
    error: z.object({ error: z.string(), message: z.string() }).nullable(),
  })
  .meta({ id: "Run" })

/** The wire format of a stream; its events are described in docs/streaming.md. */
export const eventStream = z.string().meta({ format: "event-stream" })

/** What `wait` and `join` answer: the graph's state, with `__interrupt__` or instead `__error__`. */
export const runResult = z.looseObject({ __error__: z.object({ error: z.string(), message: z.string() }).optional() })
