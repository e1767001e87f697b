/** What a request and a reply about runs look like (agent-server-api §2.8, §2.13, §6.1). */
import { z } from "zod"
import { queryFlag, uuid } from "../http/parameters.js"
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
    // Accepting one and never calling it would be worse than saying so.
    webhook: z.null("webhooks are not supported yet: leave it out").optional(),
  })
  .meta({ id: "RunCreate" })
export type NewRunBody = z.output<typeof newRun>

export const threadParams = z.object({ thread_id: uuid })
export const runParams = z.object({ thread_id: uuid, run_id: uuid })

export const joinQuery = z.object({
  cancel_on_disconnect: queryFlag,
  // Three spellings are in use: repeated keys, one JSON list, one mode (agent-server-api §1.2).
  stream_mode: z
    .union([z.string(), z.array(z.string())])
    .optional()
    .transform((value, context): string[] | undefined => {
      const modes = typeof value === "string" && value.startsWith("[") ? jsonList(value) : value
      if (modes === undefined || modes.length === 0) return undefined
      const parsed = z.array(z.string()).safeParse([modes].flat())
      if (parsed.success) return parsed.data
      context.addIssue({ code: "custom", message: "expected a stream mode or a list of them" })
      return z.NEVER
    }),
})

function jsonList(text: string): unknown[] {
  try {
    const value: unknown = JSON.parse(text)
    return Array.isArray(value) ? value : [value]
  } catch {
    // Not JSON after all: the schema that reads the list refuses it.
    return [undefined]
  }
}

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
