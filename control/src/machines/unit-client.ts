/** The control plane's client of a unit (protocol/unit, "Requests of the control plane"). */
import { preflightRule } from "@superstep/toolkit/http/cross-origin"
import { z } from "zod"
import type { ThreadPinning } from "../deployments/deployment.js"
import { ask, timeoutMs, type UnitAddress, undefinedIfUnreachable } from "./unit-request.js"

const sharesSchema = z.array(z.object({ revision_id: z.string(), weight: z.number().nullable() }))

/** The revisions that execute runs, the active one first, with their percentages of the threads; the active one's is null. */
export type Shares = z.infer<typeof sharesSchema>

const statusSchema = z.object({
  revision_id: z.string().nullable(),
  pid: z.number(),
  ready: z.boolean(),
  graphs: z.array(z.string()),
  failed: z.array(z.object({ graph_id: z.string(), message: z.string() })),
  serving: z.boolean(),
  // A unit of an older release reports none of the next three.
  traffic: sharesSchema.optional(),
  runs: z.object({ ended: z.number(), failed: z.number() }).default({ ended: 0, failed: 0 }),
  // A unit of an older release does not report it.
  run_latency: z.object({ sum_ms: z.number(), counts: z.array(z.number()) }).optional(),
  load: z
    .object({ free_slots: z.number(), waiting_ms: z.number().nullable(), loop_utilization: z.number() })
    .optional(),
  // A unit of an older release executes nothing once another revision serves.
  executes_pinned: z.boolean().default(false),
  running_runs: z.number(),
  open_streams: z.number(),
  // A unit of an older release, which an upgrade left running, does not count them.
  worker_crashes: z.object({ count: z.number(), last: z.string().nullable() }).default({ count: 0, last: null }),
  // A unit of an older release does not report it; a rule that the edge cannot use counts as none.
  cross_origin: preflightRule.nullable().catch(null),
})

export type UnitReport = z.infer<typeof statusSchema>

// Below every limit for an answer, and short enough that a caller notices other changes in between.
const waitReadyMs = 1000

/**
 * A unit that is not ready yet answers when it is, and at the latest after `waitReadyMs`; one of an older release answers at once.
 * @returns  undefined while the unit does not answer, or does not know its status yet
 */
export async function askStatus(address: UnitAddress, signal?: AbortSignal): Promise<UnitReport | undefined> {
  const reply = await ask(address, "GET", `/internal/status?wait_ms=${waitReadyMs}`, signal).catch(
    undefinedIfUnreachable,
  )
  if (!reply || reply.status >= 500) return undefined
  if (reply.status !== 200) throw new Error(`the unit answered its status with ${reply.status}: ${reply.body}`)
  return parseStatus(reply.body)
}

export const parseStatus = (text: string): UnitReport => statusSchema.parse(JSON.parse(text))

/**
 * Whether a running unit accepts a connection and does not answer for this long, since its process is stopped or stuck; or
 * has no socket where we look for it, as one that a former release started: nothing can reach it. An overloaded unit does
 * not hang: unlike its status, this answer depends on nothing else.
 * @param forMs  in milliseconds
 */
export async function hangs(address: UnitAddress, forMs: number, signal?: AbortSignal): Promise<boolean> {
  try {
    await ask(address, "GET", "/internal/live", signal, forMs)
    return false
  } catch (error) {
    signal?.throwIfAborted()
    const { name, code } = error as NodeJS.ErrnoException
    if (name === "TimeoutError" || code === "ENOENT") return true
    undefinedIfUnreachable(error)
    return false
  }
}

const idleSchema = z.object({ is_idle: z.boolean(), next_due_ms: z.number().nullable() })

export type IdleReport = z.infer<typeof idleSchema>

/** @returns  whether it has nothing to do, and until when; undefined while it does not answer */
export async function askIdle(address: UnitAddress): Promise<IdleReport | undefined> {
  const reply = await ask(address, "GET", "/internal/idle").catch(undefinedIfUnreachable)
  // 404: a unit of a former release, which an upgrade left running, does not support this.
  if (!reply || reply.status >= 500 || reply.status === 404) return undefined
  if (reply.status !== 200) throw new Error(`the unit answered the idle check with ${reply.status}: ${reply.body}`)
  return idleSchema.parse(JSON.parse(reply.body))
}

export interface RunCounts {
  readonly pending: number
  readonly active: number
}

// The largest integer in the database, and so the largest queue.
const mostCount = 2 ** 31 - 1

const countsSchema = z.object({
  pending: z.int().min(0).max(mostCount),
  running: z.int().min(0).max(mostCount),
})

// Those of an agent server are a few kilobytes.
const mostMetricsBytes = 256 * 1024

/**
 * How many runs of the unit's deployment wait and execute. A unit of an older release and an image of another builder do not know
 * `/internal/runs`: then their metrics say it, which a project with an app may answer itself.
 * @returns  undefined when there is no valid number
 */
export async function askRuns(address: UnitAddress): Promise<RunCounts | undefined> {
  const reply = await ask(address, "GET", "/internal/runs").catch(undefinedIfUnreachable)
  if (reply?.status === 404) return runsInMetrics(address)
  if (reply?.status !== 200) return undefined
  return countsOf(parseJson(reply.body))
}

async function runsInMetrics(address: UnitAddress): Promise<RunCounts | undefined> {
  const reply = await ask(address, "GET", "/metrics").catch(undefinedIfUnreachable)
  if (reply?.status !== 200 || reply.body.length > mostMetricsBytes) return undefined
  const lines = reply.body.split("\n")
  const count = (status: string) => {
    const name = `superstep_runs{status="${status}"} `
    const digits = lines.find((line) => line.startsWith(name))?.slice(name.length)
    return digits ? Number(digits) : undefined
  }
  return countsOf({ pending: count("pending"), running: count("running") })
}

function countsOf(said: unknown): RunCounts | undefined {
  const { data } = countsSchema.safeParse(said)
  return data && { pending: data.pending, active: data.running }
}

/** @returns  undefined when it is no JSON */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const pinsSchema = z.object({
  threads: z.number(),
  has_runs: z.boolean(),
  // A unit of an older release does not report it.
  traffic: sharesSchema.default([]),
})

/** What is pinned to a revision. `traffic`: how threads were shared out when that was counted; undefined: this unit never pins any. */
export type Pins = Omit<z.infer<typeof pinsSchema>, "traffic"> & { readonly traffic: Shares | undefined }

/**
 * @param address  of any unit of the deployment
 * @returns  undefined while the unit does not answer
 */
export async function askPins(address: UnitAddress, revisionId: string): Promise<Pins | undefined> {
  const reply = await ask(address, "GET", `/internal/pins/${revisionId}`).catch(undefinedIfUnreachable)
  // An image of somebody else, or a release that pins nothing.
  if (reply?.status === 404) return { threads: 0, has_runs: false, traffic: undefined }
  if (reply?.status !== 200) return undefined
  return pinsSchema.parse(JSON.parse(reply.body))
}

/** Ends all pins to a revision. May be repeated. @throws Error  when the unit does not answer or refuses */
export async function endPins(address: UnitAddress, revisionId: string): Promise<void> {
  const { status, body } = await ask(address, "DELETE", `/internal/pins/${revisionId}`)
  if (status >= 300 && status !== 404) throw new Error(`the unit refused to end pins with ${status}: ${body}`)
}

const orphansSchema = z.object({
  checked: z.number(),
  orphaned: z.number(),
  examples: z.array(z.object({ thread_id: z.string(), reason: z.string() })),
  is_complete: z.boolean(),
})

/** Paused threads that could not go on with a unit's graphs (protocol/unit). */
export type Orphans = z.infer<typeof orphansSchema>

// The unit looks for 10 s at most.
const orphansMs = 30_000

/** @returns why there is no answer, when there is none: a unit of an older release has none, and one may take too long */
export async function askOrphans(address: UnitAddress, signal: AbortSignal): Promise<Orphans | { reason: string }> {
  try {
    const { status, body } = await ask(address, "GET", "/internal/orphans", signal, orphansMs)
    return status === 200 ? orphansSchema.parse(JSON.parse(body)) : { reason: `the agent server answered ${status}` }
  } catch (error) {
    signal.throwIfAborted()
    return { reason: error instanceof Error ? error.message : String(error) }
  }
}

export interface Activation {
  /** Which threads stay on the revision before, or on this one later. */
  readonly pinning: ThreadPinning
  /** The revisions that keep their threads. */
  readonly keep: readonly string[]
  /** A revision that gets a percentage of the threads beside it. */
  readonly canary: { readonly revision_id: string; readonly weight: number } | undefined
}

/**
 * Makes the unit's revision the one that executes runs. May be repeated.
 * @throws Error  when the unit does not answer or refuses
 */
export async function activate(address: UnitAddress, activation: Activation, signal?: AbortSignal): Promise<void> {
  const request = JSON.stringify({
    thread_pinning: activation.pinning,
    keep: activation.keep,
    canary: activation.canary,
  })
  const { status, body } = await ask(address, "POST", "/internal/activate", signal, timeoutMs, request)
  if (status >= 300) throw new Error(`the unit refused to serve with ${status}: ${body}`)
}
