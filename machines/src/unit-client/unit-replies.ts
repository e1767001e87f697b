/**
 * What units answer (protocol/unit/replies.schema.json). Code of a deployment runs as the user of its unit and may make it answer anything,
 * so every reply is checked here, once and strictly: whatever passes can be stored, and numbers are as large as the database takes them at
 * most. An invalid reply counts as none. Pure.
 */
import type { PreflightRule } from "@superstep/protocol/edge/table"
import { PreflightRule as receivesRule } from "@superstep/protocol/edge/validators"
import { type Receiver, received } from "@superstep/protocol/schemas/received"
import type * as sent from "@superstep/protocol/unit/replies"
import * as receivers from "@superstep/protocol/unit/validators"
import { type StorableText, storableText } from "@superstep/toolkit/text/storable"

/** The revisions that execute runs, the active one first, with their percentages of the threads; the active one's is null. */
export type Shares = sent.Traffic

/** A unit's status. What an older release leaves out has its value, where one describes how that release behaves. */
export interface UnitReport
  extends Omit<sent.Status, "traffic" | "load" | "failed" | "worker_crashes" | "cross_origin"> {
  readonly failed: readonly { readonly graph_id: StorableText; readonly message: StorableText }[]
  readonly traffic?: Shares | undefined
  readonly load?: sent.Load | undefined
  readonly runs: sent.RunOutcomes
  readonly executes_pinned: boolean
  readonly worker_crashes: { readonly count: number; readonly last: StorableText | null }
  readonly cross_origin: PreflightRule | null
}

// Read by people. A longer one is data, which is stored with each change of the status.
const mostMessageCharacters = 10_000
const shown = (text: string): StorableText => storableText(text, mostMessageCharacters)

/** @throws InvalidReply */
export function parseStatus(text: string): UnitReport {
  const it = parseReply<sent.Status>(receivers.Status, text)
  const { count, last } = it.worker_crashes ?? { count: 0, last: null }
  const rule = received<PreflightRule>(receivesRule, it.cross_origin)
  return {
    ...it,
    failed: it.failed.map(({ graph_id, message }) => ({ graph_id: shown(graph_id), message: shown(message) })),
    runs: it.runs ?? { ended: 0, failed: 0 },
    executes_pinned: it.executes_pinned ?? false,
    worker_crashes: { count, last: last === null ? null : shown(last) },
    cross_origin: "message" in rule ? rule.message : null,
  }
}

// As the schema's `Milliseconds`: a time from now on has a date in the database.
const mostMs = 1e12

/** @throws InvalidReply */
export function parseIdle(text: string): sent.Idle {
  const { is_idle, next_due_ms } = parseReply<sent.Idle>(receivers.Idle, text)
  return { is_idle, next_due_ms: next_due_ms === null ? null : Math.min(next_due_ms, mostMs) }
}

/** Of all runs of the unit's deployment. @throws InvalidReply */
export const parseRunCounts = (text: string): sent.RunCounts => parseReply<sent.RunCounts>(receivers.RunCounts, text)

/** What is pinned to a revision. `traffic`: how threads were shared out when that was counted; undefined: this unit never pins any. */
export interface Pins extends Omit<sent.Pins, "traffic"> {
  readonly traffic: Shares | undefined
}

/** @throws InvalidReply */
export const parsePins = (text: string): Pins & { readonly traffic: Shares } => ({
  // A unit of an older release does not report it.
  traffic: [],
  ...parseReply<sent.Pins>(receivers.Pins, text),
})

/** Paused threads that could not go on with a unit's graphs. */
export interface Orphans extends Omit<sent.Orphans, "examples"> {
  readonly examples: readonly { readonly thread_id: StorableText; readonly reason: StorableText }[]
}

/** @throws InvalidReply */
export function parseOrphans(text: string): Orphans {
  const it = parseReply<sent.Orphans>(receivers.Orphans, text)
  const examples = it.examples.map(({ thread_id, reason }) => ({ thread_id: shown(thread_id), reason: shown(reason) }))
  return { ...it, examples }
}

/** What a person did at an agent. */
export interface ReportedAct extends Omit<sent.Act, "acted_at" | "changed" | "thing"> {
  readonly acted_at: Date
  readonly changed: readonly StorableText[] | null
  readonly thing: (Omit<sent.DeletedThing, "name"> & { readonly name: StorableText | null }) | null
}

/** @throws InvalidReply */
export const parseActs = (text: string): ReportedAct[] =>
  parseReply<sent.Acts>(receivers.Acts, text).map(({ acted_at, changed, thing, ...act }) => ({
    ...act,
    acted_at: momentOf(acted_at),
    changed: changed?.map(shown) ?? null,
    thing: thing && { ...thing, name: thing.name === null ? null : shown(thing.name) },
  }))

/** @throws InvalidReply  the schema admits days that no month has */
function momentOf(text: string): Date {
  const moment = new Date(text)
  if (Number.isNaN(moment.getTime())) throw new InvalidReply("the unit's reply is invalid: acted_at is no time")
  return moment
}

/** Code of a deployment answers in place of its unit, or has changed it. */
export class InvalidReply extends Error {
  readonly code = "INVALID_REPLY"
}

function parseReply<Reply>(receiver: Receiver, text: string): Reply {
  const it = received<Reply>(receiver, parseJson(text))
  if ("message" in it) return it.message
  const { path, message } = it.problem
  throw new InvalidReply(`the unit's reply is invalid: ${[...path, message].join(" ")}`)
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new InvalidReply("the unit's reply is not JSON")
  }
}
