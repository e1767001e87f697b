/** What a request and a reply about runs look like (agent-server-api §2.8, §2.13, §6.1). */
import { parseJsonBody } from "@superstep/toolkit/http/body"
import { z } from "zod"
import { pageQueryFields } from "../http/pagination.js"
import { plainText, queryFlag, queryList, uuid } from "../http/parameters.js"
import { multitaskStrategies, runStatuses, streamModes } from "./run.js"

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

const checkpoint = z.looseObject({
  checkpoint_id: z.string().nullish(),
  checkpoint_ns: z.string().nullish(),
  checkpoint_map: anObject.nullish(),
})

/** A reference to a place to call: a URL, or a path of the project's own routes. */
const webhook = plainText.min(1).max(65_536)

/** The body of every route that creates a run. Null means the same as absent, and what is not named here is ignored. */
export const newRun = z
  .object({
    assistant_id: z.string(),
    /** Chosen by the client, so that it can ask for the run before it has the reply. */
    run_id: uuid.nullish(),
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
    checkpoint: checkpoint.nullish(),
    checkpoint_id: z.string().nullish(),
    multitask_strategy: z.enum(multitaskStrategies).nullish(),
    if_not_exists: z.enum(["create", "reject"]).nullish(),
    on_disconnect: z.enum(["cancel", "continue"]).nullish(),
    on_completion: z.enum(["delete", "keep"]).nullish(),
    after_seconds: z.number().min(0).max(31_536_000).nullish(),
    durability: z.enum(["sync", "async", "exit"]).nullish(),
    checkpoint_during: z.boolean().nullish(),
    webhook: webhook.nullish(),
    // Addresses for feedback are LangSmith's to give: without it there is no event (agent-server-api §7.8).
    feedback_keys: z.array(z.string()).nullish(),
    langsmith_tracer: z.object({ project_name: z.string().nullish(), example_id: z.string().nullish() }).nullish(),
    strict_resume: z.boolean().nullish(),
  })
  .meta({ id: "RunCreate" })
export type NewRunBody = z.output<typeof newRun>

// Each is a run of its own, all in one transaction.
const mostInBatch = 1000

/** Stateless runs that are made together or not at all. */
export const newRuns = z.array(newRun).min(1).max(mostInBatch)

export const threadParams = z.object({ thread_id: uuid })
export const runParams = z.object({ thread_id: uuid, run_id: uuid })

export const runIdParams = z.object({ run_id: uuid })

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

export const cancelQuery = z
  .object({
    wait: queryFlag,
    action: z.enum(["interrupt", "rollback"]).default("interrupt"),
    // Another client takes the run over; one that is removed cannot be (agent-server-api §6.5).
    reason: z.enum(["taken"]).optional(),
  })
  .refine(({ action, reason }) => reason === undefined || action === "interrupt", {
    path: ["reason"],
    message: "goes with action=interrupt only",
  })

export const cancelManyQuery = z.object({ action: z.enum(["interrupt", "rollback"]).default("interrupt") })

/** Runs of a status, wherever, or some of a thread: exactly one of the two. */
export const cancelManyBody = z
  .object({
    status: z.enum(["pending", "running", "all"]).nullish(),
    thread_id: uuid.nullish(),
    run_ids: z.array(uuid).max(1000).nullish(),
  })
  .transform(({ status, thread_id: threadId, run_ids: runIds }, context) => {
    if (status && !threadId && !runIds) return { status }
    if (threadId && runIds && runIds.length > 0 && !status) return { threadId, runIds }
    context.addIssue({ code: "custom", message: 'expected either "status", or "thread_id" with "run_ids"' })
    return z.NEVER
  })

const runFields = {
  run_id: z.string(),
  thread_id: z.string(),
  assistant_id: z.string(),
  created_at: z.string(),
  updated_at: z.string(),
  status: z.enum(runStatuses),
  metadata: anObject,
  kwargs: anObject,
  multitask_strategy: z.enum(multitaskStrategies),
  attempt: z.int(),
  error: z.object({ error: z.string(), message: z.string() }).nullable(),
  cancel_reason: z.string().nullable(),
}

export type RunField = keyof typeof runFields
const runFieldNames = Object.keys(runFields) as [RunField, ...RunField[]]

export const run = z.object(runFields).meta({ id: "Run" })

/** A run of a list, which holds only what was selected. */
export const listedRun = run.partial()

export const listQuery = z.object({
  ...pageQueryFields,
  status: z.enum(runStatuses).optional(),
  select: queryList(z.enum(runFieldNames)),
  metadata: z
    .string()
    .transform((text, context) => {
      const parsed = anObject.safeParse(jsonOf(text))
      if (parsed.success) return parsed.data
      context.addIssue({ code: "custom", message: "expected a JSON object" })
      return z.NEVER
    })
    .optional(),
})

/** As a body is read, so that what is nested too deep is refused before anybody walks through it. */
function jsonOf(text: string): unknown {
  try {
    return parseJsonBody(text)
  } catch {
    // No JSON of ours: the schema that reads the value refuses it.
    return undefined
  }
}

export const deleteQuery = z.object({ force: queryFlag })

/** The wire format of a stream; its events are described in docs/streaming.md. */
export const eventStream = z.string().meta({ format: "event-stream" })

/** What `wait` and `join` answer: the graph's state, with `__interrupt__` or instead `__error__`. */
export const runResult = z.looseObject({ __error__: z.object({ error: z.string(), message: z.string() }).optional() })
