/** Schemas of requests and responses about crons (agent-server-api §2.9, §8). */
import { z } from "zod"
import { pageFields } from "../http/pagination.js"
import { jsonObject, plainText, uuid } from "../http/parameters.js"
import { newRun } from "../runs/schema.js"
import { cronFields } from "./cron.js"
import { isTimezone, maxScheduleChars, scheduleProblem } from "./schedule.js"

const schedule = plainText.max(maxScheduleChars).superRefine((text, context) => {
  const message = scheduleProblem(text)
  if (message !== undefined) context.addIssue({ code: "custom", message })
})
const timezone = z.string().refine(isTimezone, "expected the name of a time zone, such as Europe/Berlin")

// The Python client sends `isoformat()` of its argument, which may lack the zone: then it is UTC.
const moment = z.iso
  .datetime({ offset: true, local: true, error: "expected a date and time, such as 2030-01-31T12:00:00Z" })
  .transform((text) => new Date(/(Z|[+-]\d{2}:?\d{2})$/i.test(text) ? text : `${text}Z`))
  .refine((date) => !Number.isNaN(date.getTime()), "expected a date and time that exists")

/** The fields that a cron passes to its runs. */
const { shape } = newRun
const payloadFields = {
  input: shape.input,
  config: shape.config,
  context: shape.context,
  webhook: shape.webhook,
  interrupt_before: shape.interrupt_before,
  interrupt_after: shape.interrupt_after,
  multitask_strategy: shape.multitask_strategy,
  stream_mode: shape.stream_mode,
  stream_subgraphs: shape.stream_subgraphs,
  stream_resumable: shape.stream_resumable,
  durability: shape.durability,
  checkpoint_during: shape.checkpoint_during,
}
export type Payload = z.output<z.ZodObject<typeof payloadFields>>

const planFields = {
  timezone: timezone.nullish(),
  end_time: moment.nullish(),
  enabled: z.boolean().nullish(),
  on_run_completed: z.enum(["delete", "keep"]).nullish(),
  metadata: jsonObject.nullish(),
}

/** The body of both routes that create a cron. */
export const newCron = z
  .object({ assistant_id: z.string(), schedule, ...planFields, ...payloadFields })
  .meta({ id: "CronCreate" })
export type NewCronBody = z.output<typeof newCron>

/** An absent field stays unchanged; null removes the value. */
export const cronPatch = z.object({ schedule: schedule.nullish(), ...planFields, ...payloadFields }).meta({
  id: "CronPatch",
})
export type CronPatchBody = z.output<typeof cronPatch>

/** The payload's part of a body; the rest is the plan. */
export function payloadOf(body: Payload): Partial<Payload> {
  const given = Object.keys(payloadFields).map((field) => [field, body[field as keyof Payload]])
  return Object.fromEntries(given.filter(([, value]) => value !== undefined))
}

const filters = {
  assistant_id: z.string().nullish(),
  thread_id: uuid.nullish(),
  enabled: z.boolean().nullish(),
  metadata: jsonObject.nullish(),
}

export const cronSearch = z
  .object({
    ...filters,
    ...pageFields,
    sort_by: z
      .enum(["cron_id", "assistant_id", "thread_id", "next_run_date", "end_time", "created_at", "updated_at"])
      .nullish(),
    sort_order: z.enum(["asc", "desc"]).nullish(),
    // The JavaScript client's types also have `now`, which is not a field of a cron.
    select: z.array(z.enum([...cronFields, "now"])).nullish(),
  })
  .meta({ id: "CronSearch" })
export type CronSearchBody = z.output<typeof cronSearch>

export const cronCount = z.object(filters).meta({ id: "CronCount" })
export type CronCountBody = z.output<typeof cronCount>

export const cronParams = z.object({ cron_id: uuid })

export const cron = z
  .object({
    cron_id: z.string(),
    assistant_id: z.string(),
    thread_id: z.string().nullable(),
    on_run_completed: z.enum(["delete", "keep"]).nullable(),
    end_time: z.string().nullable(),
    schedule: z.string(),
    timezone: z.string().nullable(),
    created_at: z.string(),
    updated_at: z.string(),
    user_id: z.string().nullable(),
    payload: jsonObject,
    next_run_date: z.string().nullable(),
    metadata: jsonObject,
    enabled: z.boolean(),
    disabled_reason: z.string().nullable(),
  })
  .meta({ id: "Cron" })

/** An item of a search: all fields, or the selected ones. */
export const cronFound = cron.partial()
