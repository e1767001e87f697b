/** Schemas of the newer streaming protocol's requests (protocol-v2 §1.3–1.5). */
import { z } from "zod"
import { jsonObject } from "../http/parameters.js"
import { newRun } from "../runs/schema.js"

const namespace = z.array(z.string())

const filterFields = {
  channels: z.array(z.string()),
  namespaces: z.array(namespace).nullish(),
  depth: z.int().min(0).nullish(),
  since: z.int().min(0).nullish(),
}

export const eventFilter = z.strictObject(filterFields).meta({ id: "ThreadEventFilter" })
export type EventFilterBody = z.output<typeof eventFilter>

export const subscription = z.object(filterFields)

export const command = z
  .object({ id: z.int().min(0), method: z.string(), params: jsonObject.nullish() })
  .meta({ id: "ThreadCommand" })
export type Command = z.output<typeof command>

export const commandReply = z
  .object({
    type: z.enum(["success", "error"]),
    id: z.int().nullable(),
    result: jsonObject.optional(),
    error: z.string().optional(),
    message: z.string().optional(),
    doc_url: z.string().optional(),
    meta: z.object({ thread_id: z.string(), applied_through_seq: z.int() }).optional(),
  })
  .meta({ id: "ThreadCommandReply" })

const { config, metadata, langsmith_tracer, multitask_strategy } = newRun.shape

export const runStart = z.object({
  assistant_id: z
    .string({ error: "run.start requires an assistant_id." })
    .min(1, "run.start requires an assistant_id."),
  input: z.unknown().optional(),
  config,
  metadata,
  langsmith_tracer,
  // SDKs send one or both names (protocol-v2 §1.4).
  multitask_strategy,
  multitaskStrategy: multitask_strategy,
})

const answer = z.object({ namespace: namespace.nullish(), interrupt_id: z.string(), response: z.unknown().optional() })

const { update, goto } = newRun.shape.command.unwrap().unwrap().shape

const needsId = "input.respond requires an interrupt_id."

export const inputRespond = z
  .object({
    interrupt_id: z.string().nullish(),
    response: z.unknown().optional(),
    responses: z.array(answer).nullish(),
    update,
    goto,
    config,
    metadata,
    strict_resume: z.boolean().nullish(),
  })
  .transform(({ interrupt_id, response, responses, ...rest }, context) => {
    const single = interrupt_id ? [{ interrupt_id, response, path: ["response"] }] : []
    const several = (responses ?? []).map((each, n) => ({ ...each, path: ["responses", n, "response"] }))
    const answers = several.length > 0 ? several : single
    if (answers.length > 0) return { answers, ...rest }
    context.addIssue({ code: "custom", message: needsId })
    return z.NEVER
  })

export const stateGet = z.object({ namespace: namespace.nullish(), keys: z.array(z.string()).nullish() })

export const inputInject = z.object({
  namespace: namespace.nullish(),
  message: z.object({ role: z.enum(["user", "system"]), content: z.string(), name: z.string().optional() }),
})

const beforeCheckpoint = z.union([z.string(), z.looseObject({ id: z.string() }).transform(({ id }) => id)])

export const listCheckpoints = z.object({
  namespace: namespace.nullish(),
  limit: z.int().min(1).max(1000).nullish(),
  before: beforeCheckpoint.nullish(),
})

export const stateFork = z.object({
  checkpoint_id: z.string().min(1),
  input: z.unknown().optional(),
  config,
})

export const getTree = z.object({ run_id: z.uuid().nullish() })
export const reconnect = z.object({
  run_id: z.uuid(),
  last_event_id: z.string().nullish(),
  subscriptions: z.array(z.string()).nullish(),
})
export const unsubscribe = z.object({ subscription_id: z.string() })
