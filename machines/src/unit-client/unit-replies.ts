/**
 * What units answer (protocol/unit). Code of a deployment runs as the user of its unit and may make it answer anything, so every reply
 * is checked here, once and strictly: whatever passes can be stored, and numbers are as large as the database takes them at most. An
 * invalid reply counts as none. Pure.
 */

import { preflightRule } from "@superstep/toolkit/http/cross-origin"
import { checkForeign } from "@superstep/toolkit/text/check-foreign"
import { plainText, storableText } from "@superstep/toolkit/text/storable"
import { z } from "zod"

/** An `integer` of the database. */
const count = z
  .int()
  .min(0)
  .max(2 ** 31 - 1)

// Added to the crashes of the unit's own process, it is still an `integer`.
const crashCount = count.max(1_000_000)

// About thirty years: a sum of the time to wait for runs stays below, and a time from now on has a date in the database.
const mostMs = 1e12
const milliseconds = z.number().min(0).max(mostMs)

// Read by people. A longer one is data, which is stored with each change of the status.
const mostMessageCharacters = 10_000
const message = z.string().transform((text) => storableText(text, mostMessageCharacters))

const id = plainText.max(1000)

// A project has a thousand graphs at most, and two modules beside them.
const mostNamed = 2000

const sharesSchema = z.array(z.object({ revision_id: id, weight: z.number().nullable() })).max(mostNamed)

/** The revisions that execute runs, the active one first, with their percentages of the threads; the active one's is null. */
export type Shares = z.infer<typeof sharesSchema>

export const statusSchema = z.object({
  revision_id: id.nullable(),
  pid: count,
  ready: z.boolean(),
  graphs: z.array(id).max(mostNamed),
  failed: z.array(z.object({ graph_id: message, message })).max(mostNamed),
  serving: z.boolean(),
  // A unit of an older release reports none of the next three.
  traffic: sharesSchema.optional(),
  runs: z.object({ ended: count, failed: count }).default({ ended: 0, failed: 0 }),
  // A unit of an older release does not report it.
  run_latency: z.object({ sum_ms: milliseconds, counts: z.array(count).max(100) }).optional(),
  load: z
    .object({ free_slots: count, waiting_ms: milliseconds.nullable(), loop_utilization: z.number().min(0) })
    .optional(),
  // A unit of an older release executes nothing once another revision serves.
  executes_pinned: z.boolean().default(false),
  running_runs: count,
  open_streams: count,
  // A unit of an older release, which an upgrade left running, does not count them.
  worker_crashes: z.object({ count: crashCount, last: message.nullable() }).default({ count: 0, last: null }),
  // A unit of an older release does not report it; a rule that the edge cannot use counts as none.
  cross_origin: preflightRule.nullable().catch(null),
})

export type UnitReport = z.infer<typeof statusSchema>

export const idleSchema = z.object({
  is_idle: z.boolean(),
  // A cron may be due in a thousand years.
  next_due_ms: z
    .number()
    .transform((ms) => Math.min(ms, mostMs))
    .nullable(),
})

export type IdleReport = z.infer<typeof idleSchema>

/** Of all runs of the unit's deployment. */
export const runCountsSchema = z.object({ pending: count, running: count })

export const pinsSchema = z.object({
  threads: count,
  has_runs: z.boolean(),
  // A unit of an older release does not report it.
  traffic: sharesSchema.default([]),
})

/** What is pinned to a revision. `traffic`: how threads were shared out when that was counted; undefined: this unit never pins any. */
export type Pins = Omit<z.infer<typeof pinsSchema>, "traffic"> & { readonly traffic: Shares | undefined }

export const orphansSchema = z.object({
  checked: count,
  orphaned: count,
  examples: z.array(z.object({ thread_id: message, reason: message })).max(100),
  is_complete: z.boolean(),
})

/** Paused threads that could not go on with a unit's graphs (protocol/unit). */
export type Orphans = z.infer<typeof orphansSchema>

/** Code of a deployment answers in place of its unit, or has changed it. */
export class InvalidReply extends Error {
  readonly code = "INVALID_REPLY"
}

// It is in a log line.
const mostReasonCharacters = 500

/** @throws InvalidReply */
export function parseReply<Schema extends z.ZodType>(schema: Schema, text: string): z.output<Schema> {
  const parsed = checkForeign(schema, parseJson(text))
  if (parsed.success) return parsed.data
  const reason = storableText(z.prettifyError(parsed.error), mostReasonCharacters)
  throw new InvalidReply(`the unit's reply is invalid: ${reason}`)
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new InvalidReply("the unit's reply is not JSON")
  }
}
