/** Requests and responses about runs (agent-server-api §2.8, §2.13, §6.1). */
import { parseJsonBody } from "@superstep/toolkit/http/body"
import { RawJson, rawJson } from "@superstep/toolkit/http/json"
import { z } from "zod"
import { pageQueryFields } from "../http/pagination.js"
import { jsonObject, plainText, queryFlag, queryList, uuid } from "../http/parameters.js"
import type { RunRow } from "./queries.js"
import { multitaskStrategies, runStatuses, streamModes } from "./run.js"

const streamMode = z.enum(streamModes)
const nodeNames = z.union([z.literal("*"), z.array(z.string())], 'expected "*" or a list of node names')

const send = z.object({ node: z.string(), input: z.unknown().optional() })
const command = z
  .object({
    update: z.union([jsonObject, z.array(z.tuple([z.string(), z.unknown()]))]).nullish(),
    resume: z.unknown().optional(),
    goto: z.union([z.string(), send, z.array(z.union([z.string(), send]))]).nullish(),
  })
  .meta({ id: "Command" })

const config = z.looseObject({
  tags: z.array(z.string()).nullish(),
  recursion_limit: z.int().positive().nullish(),
  configurable: jsonObject.nullish(),
  metadata: jsonObject.nullish(),
})

const checkpoint = z.looseObject({
  checkpoint_id: z.string().nullish(),
  checkpoint_ns: z.string().nullish(),
  checkpoint_map: jsonObject.nullish(),
})

/** A URL to call, or a path of the project's own routes. */
const webhook = plainText.min(1).max(65_536)

/** The body of every route that creates a run. Null means the same as absent; unknown fields are ignored. */
export const newRun = z
  .object({
    assistant_id: z.string(),
    /** Chosen by the client, so that it can refer to the run before it has the response. */
    run_id: uuid.nullish(),
    input: z.unknown().optional(),
    command: command.nullish(),
    metadata: jsonObject.nullish(),
    config: config.nullish(),
    context: jsonObject.nullish(),
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
    // Only LangSmith provides feedback URLs; without it there is no feedback event (agent-server-api §7.8).
    feedback_keys: z.array(z.string()).nullish(),
    langsmith_tracer: z.object({ project_name: z.string().nullish(), example_id: z.string().nullish() }).nullish(),
    strict_resume: z.boolean().nullish(),
  })
  .meta({ id: "RunCreate" })
export type NewRunBody = z.output<typeof newRun>

// All runs of a batch are inserted in one transaction.
const maxBatchSize = 1000

/** Stateless runs of which all or none are created. */
export const newRuns = z.array(newRun).min(1).max(maxBatchSize)

export const threadParams = z.object({ thread_id: uuid })
export const runParams = z.object({ thread_id: uuid, run_id: uuid })

export const runIdParams = z.object({ run_id: uuid })

/** Graphs whose events are streamed. A namespace may contain a comma, so a list is always repeated keys (agent-server-api §6.1). */
const namespaces = z
  .union([z.string(), z.array(z.string())])
  .optional()
  .transform((value) => (value === undefined ? undefined : [value].flat()))
  .meta({ type: "array", items: { type: "string" } })

// A client that joins may also name the events of one subgraph (`updates|sub:<task>`), one event of the older message mode, or a
// mode of newer clients whose events this server does not send (agent-server-api §7.1, §7.10).
const joinedEvents = new Set<string>([
  ...streamModes,
  "messages/metadata",
  "messages/partial",
  "messages/complete",
  "lifecycle",
])

const joinMode = z.string().refine((mode) => joinedEvents.has(mode.split("|", 1)[0] ?? ""), {
  error: ({ input }) => `"${input}" is not a stream mode: expected one of ${streamModes.join(", ")}`,
})

export const streamQuery = z.object({ namespace: namespaces })

export const joinQuery = z.object({
  cancel_on_disconnect: queryFlag,
  stream_mode: queryList(joinMode),
  namespace: namespaces,
})

export const cancelQuery = z
  .object({
    wait: queryFlag,
    action: z.enum(["interrupt", "rollback"]).default("interrupt"),
    // Another client takes the run over; a run that is removed cannot be taken over (agent-server-api §6.5).
    reason: z.enum(["taken"]).optional(),
  })
  .refine(({ action, reason }) => reason === undefined || action === "interrupt", {
    path: ["reason"],
    message: "goes with action=interrupt only",
  })

export const cancelManyQuery = z.object({ action: z.enum(["interrupt", "rollback"]).default("interrupt") })

/** All runs with a status, or the named runs of one thread: exactly one of the two. */
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

const runError = z.object({
  error: z.string().meta({ description: "The name of the exception." }),
  message: z.string(),
  doc_url: z
    .string()
    .optional()
    .meta({ description: "Where the error is explained, when the platform ended the run." }),
})

const runFields = {
  run_id: z.string(),
  thread_id: z.string(),
  assistant_id: z.string(),
  created_at: z.string(),
  updated_at: z.string(),
  status: z.enum(runStatuses),
  metadata: jsonObject,
  kwargs: jsonObject,
  multitask_strategy: z.enum(multitaskStrategies),
  attempt: z.int(),
  error: runError.nullable(),
  cancel_reason: z.string().nullable(),
  input_saved: z
    .boolean()
    .nullable()
    .meta({
      description:
        "Whether the run's input, or its answer to an interrupt, is in the thread. False: the run was stopped before it began, " +
        "or before anything of it was saved. Null: the run is not over.",
    }),
  created_by: z.object({ person_id: z.string(), name: z.string(), email: z.string() }).nullable().meta({
    description: "The person who started it in the console, as they were named then; null for a caller with a key.",
  }),
}

type RunField = keyof typeof runFields
const runFieldNames = Object.keys(runFields) as [RunField, ...RunField[]]

export const run = z.object(runFields).meta({ id: "Run" })

/** A Run resource. It shows the reason of a stop only if the run was stopped, not if it ended before the stop. */
export const renderRun = (row: RunRow) => ({
  run_id: row.run_id,
  thread_id: row.thread_id,
  assistant_id: row.assistant_id,
  created_at: row.created_at,
  updated_at: row.updated_at,
  status: row.status,
  metadata: new RawJson(row.metadata),
  kwargs: new RawJson(row.kwargs),
  multitask_strategy: row.multitask_strategy,
  attempt: row.attempt,
  error: rawJson(row.error),
  cancel_reason: row.status === "interrupted" ? row.cancel_reason : null,
  input_saved: row.status === "success" ? true : row.input_saved,
  created_by: rawJson(row.created_by),
})

/** Only the requested fields. */
export const onlySelected = <Rendered extends object>(
  rendered: Rendered,
  select: readonly (keyof Rendered)[] | null | undefined,
): object => (select ? Object.fromEntries(select.map((field) => [field, rendered[field]])) : rendered)

/** A run in a list, with only the selected fields. */
export const listedRun = run.partial()

export const listQuery = z.object({
  ...pageQueryFields,
  status: z.enum(runStatuses).optional(),
  select: queryList(z.enum(runFieldNames)),
  metadata: z
    .string()
    .transform((text, context) => {
      const parsed = jsonObject.safeParse(jsonOf(text))
      if (parsed.success) return parsed.data
      context.addIssue({ code: "custom", message: "expected a JSON object" })
      return z.NEVER
    })
    .optional(),
})

/** Parses like a request body, so that a value nested too deeply is rejected before other code walks through it. */
function jsonOf(text: string): unknown {
  try {
    return parseJsonBody(text)
  } catch {
    // Not acceptable JSON: the schema that reads the value rejects it.
    return undefined
  }
}

export const deleteQuery = z.object({ force: queryFlag })

/** The wire format of a stream; its events are described in docs/streaming.md. */
export const eventStream = z.string().meta({ format: "event-stream" })

/** The response of `wait` and `join`: the graph's state, possibly with `__interrupt__`; or `__error__` instead. */
export const runResult = z.looseObject({ __error__: runError.optional() })
