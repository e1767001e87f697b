/** What requests for logs and their replies look like. */
import { z } from "@hono/zod-openapi"
import { optionalParameter, text, wholeNumber } from "../http/fields.js"
import { logLevels, logStreams } from "./log-line.js"
import type { LogPage } from "./operations.js"

/** ISO text, or milliseconds since 1970 as a number or in digits: the CLIs send what they were given (§1.4). */
const time = z.union([z.string(), z.number()]).transform((value, ctx) => {
  const date = new Date(typeof value === "string" && /^\d+$/.test(value) ? Number(value) : value)
  // Postgres ends at the year 294276, ISO's four digits before that.
  if (!Number.isNaN(date.getTime()) && date.getUTCFullYear() >= 1 && date.getUTCFullYear() <= 9999) return date
  ctx.addIssue({ code: "custom", message: "expected an ISO time or milliseconds since 1970" })
  return z.NEVER
})

/** The place after a line, as a reply gave it. */
const offset = z
  .string()
  .regex(/^\d{1,15}$/, "expected a next_offset of an earlier reply")
  .transform(Number)

const level = z
  .string()
  .transform((value) => value.toUpperCase())
  .pipe(z.enum(logLevels))

const order = z.enum(["asc", "desc"])

export const logsQuery = z.object({
  type: z.enum(logStreams),
  order: optionalParameter(order),
  limit: optionalParameter(wholeNumber({ min: 1, max: 1000 })).openapi({ description: "1 to 1000, 50 unless told" }),
  offset: optionalParameter(offset),
  start_time: optionalParameter(time),
  end_time: optionalParameter(time),
  level: optionalParameter(level),
  query: optionalParameter(text),
})

/** The same by POST, as both CLIs ask. */
export const logsBody = z.object({
  order: order.nullish(),
  limit: z.int().min(1).max(1000).nullish(),
  offset: optionalParameter(offset.nullable()),
  start_time: optionalParameter(time.nullable()),
  end_time: optionalParameter(time.nullable()),
  level: optionalParameter(level.nullable()),
  query: optionalParameter(text.nullable()),
})

export const logsReply = z.object({
  logs: z.array(
    z.object({ id: z.string(), timestamp: z.iso.datetime(), level: z.enum(logLevels), message: z.string() }),
  ),
  next_offset: z.string().nullable(),
})

export const renderLogPage = ({ rows, nextOffset }: LogPage): z.input<typeof logsReply> => ({
  logs: rows.map((row) => ({
    id: String(row.log_line_id),
    timestamp: row.at.toISOString(),
    level: row.level,
    message: row.message,
  })),
  next_offset: nextOffset,
})
