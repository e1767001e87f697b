/** The format of requests for logs and of their replies. */
import { z } from "@hono/zod-openapi"
import { optionalParameter, text, trueOrFalse, uuid, wholeNumber } from "../http/fields.js"
import { logLevels, logStreams } from "./log-line.js"
import type { LogPage } from "./operations.js"
import type { LogRow } from "./queries.js"

/**
 * ISO text, or milliseconds since 1970 as a number or in digits: the CLIs send back what they got (§1.4). It stays a text,
 * since our times have microseconds and JavaScript's do not.
 */
const time = z.union([z.string(), z.number()]).transform((value, ctx) => {
  const date = new Date(typeof value === "string" && /^\d+$/.test(value) ? Number(value) : value)
  const micros = typeof value === "string" ? (/:\d\d\.\d{3}(\d{1,3})/.exec(value)?.[1] ?? "") : ""
  // Postgres ends at the year 294276, ISO's four digits before that.
  if (!Number.isNaN(date.getTime()) && date.getUTCFullYear() >= 1 && date.getUTCFullYear() <= 9999) {
    return date.toISOString().replace("Z", `${micros.padEnd(3, "0")}Z`)
  }
  ctx.addIssue({ code: "custom", message: "expected an ISO time or milliseconds since 1970" })
  return z.NEVER
})

const level = z
  .string()
  .transform((value) => value.toUpperCase())
  .pipe(z.enum(logLevels))

const order = z.enum(["asc", "desc"])

const lineFilter = {
  level: optionalParameter(level),
  query: optionalParameter(text),
  run_id: optionalParameter(uuid),
  hide_platform: optionalParameter(trueOrFalse).openapi({
    description: "true: without the lines that Superstep itself wrote, except for warnings and errors",
  }),
}

export const logsQuery = z.object({
  type: z.enum(logStreams),
  order: optionalParameter(order),
  limit: optionalParameter(wholeNumber({ min: 1, max: 1000 })).openapi({ description: "1 to 1000, default 50" }),
  offset: optionalParameter(text),
  start_time: optionalParameter(time),
  end_time: optionalParameter(time),
  ...lineFilter,
})

/** The same as a POST body, for both CLIs. */
export const logsBody = z.object({
  order: order.nullish(),
  limit: z.int().min(1).max(1000).nullish(),
  offset: optionalParameter(text.nullable()),
  start_time: optionalParameter(time.nullable()),
  end_time: optionalParameter(time.nullable()),
  level: optionalParameter(level.nullable()),
  query: optionalParameter(text.nullable()),
  run_id: optionalParameter(uuid.nullable()),
  hide_platform: optionalParameter(z.boolean().nullable()),
})

export const deploymentLogsQuery = z.object({
  deployment_id: uuid,
  revision_id: optionalParameter(uuid),
  log_type: optionalParameter(z.enum(["BUILD", "DEPLOY"])).openapi({ description: "default DEPLOY" }),
  sort_order: optionalParameter(
    z
      .string()
      .transform((value) => value.toLowerCase())
      .pipe(order),
  ).openapi({ description: "asc or desc (default): newest first" }),
  page_size: optionalParameter(wholeNumber({ min: 1, max: 100 })).openapi({ description: "1 to 100, default 20" }),
  cursor: optionalParameter(text),
  start_time: optionalParameter(time),
  end_time: optionalParameter(time),
  ...lineFilter,
})

export const streamQuery = z.object({
  type: optionalParameter(z.enum(logStreams)).openapi({ description: "default both" }),
  tail: optionalParameter(wholeNumber({ min: 0, max: 1000 })).openapi({
    description: "how many of the newest lines to send first, without a Last-Event-ID; default 100",
  }),
  last_event_id: optionalParameter(text).openapi({ description: "instead of the header Last-Event-ID" }),
  ...lineFilter,
})

const line = z.object({
  id: z.string(),
  timestamp: z.iso.datetime(),
  level: z.enum(logLevels),
  message: z.string(),
  type: z.enum(logStreams),
  revision_id: z.string(),
  run_id: z.string().nullable(),
  thread_id: z.string().nullable(),
  is_platform: z.boolean().openapi({ description: "Superstep wrote the line, not the code of the deployment" }),
})

export const logsReply = z.object({ logs: z.array(line), next_offset: z.string().nullable() })
export const deploymentLogsReply = z.object({ items: z.array(line), next_cursor: z.string().nullable() })
export const eventStream = z.string().meta({ format: "event-stream" })

export const renderLine = (row: LogRow): z.input<typeof line> => ({
  id: String(row.log_line_id),
  timestamp: row.time,
  level: row.level,
  message: row.message,
  type: row.stream,
  revision_id: row.revision_id,
  run_id: row.run_id,
  thread_id: row.thread_id,
  is_platform: row.is_platform,
})

export const renderLogPage = ({ rows, nextCursor }: LogPage): z.input<typeof logsReply> => ({
  logs: rows.map(renderLine),
  next_offset: nextCursor,
})
