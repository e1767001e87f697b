/** The control plane's client of a unit (protocol/unit, "Requests of the control plane"). */
import type { Idle } from "@superstep/protocol/unit/replies"
import { storableText } from "@superstep/toolkit/text/storable"
import {
  InvalidReply,
  type Orphans,
  type Pins,
  parseActs,
  parseIdle,
  parseOrphans,
  parsePins,
  parseRunCounts,
  parseStatus,
  type ReportedAct,
  type UnitReport,
} from "./unit-replies.js"
import { ask, ReplyTooLarge, timeoutMs, type UnitAddress, undefinedIfUnreachable } from "./unit-request.js"

// Below every limit for an answer, and short enough that a caller notices other changes in between.
const waitReadyMs = 1000

/**
 * A unit that is not ready yet answers when it is, and at the latest after `waitReadyMs`; one of an older release answers at once.
 * @returns  undefined while the unit gives no valid answer, or does not know its status yet
 */
export async function askStatus(address: UnitAddress, signal?: AbortSignal): Promise<UnitReport | undefined> {
  const reply = await ask(address, "GET", `/internal/status?wait_ms=${waitReadyMs}`, signal).catch(
    undefinedIfUnreachable,
  )
  if (!reply || reply.status >= 500) return undefined
  if (reply.status !== 200) throw new Error(`the unit answered its status with ${reply.status}: ${startOf(reply.body)}`)
  return validOrUndefined(parseStatus, reply.body)
}

function validOrUndefined<Reply>(parse: (text: string) => Reply, text: string): Reply | undefined {
  try {
    return parse(text)
  } catch (error) {
    if (error instanceof InvalidReply) return undefined
    throw error
  }
}

/** The part of a reply that fits a message. */
const startOf = (body: string): string => storableText(body, 200)

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

/** @returns  whether it has nothing to do, and until when; undefined while it gives no valid answer; `unsupported`: its release cannot say */
export async function askIdle(address: UnitAddress): Promise<Idle | "unsupported" | undefined> {
  const reply = await ask(address, "GET", "/internal/idle").catch(undefinedIfUnreachable)
  if (!reply || reply.status >= 500) return undefined
  // A unit of a former release, which an upgrade left running.
  if (reply.status === 404) return "unsupported"
  if (reply.status !== 200)
    throw new Error(`the unit answered the idle check with ${reply.status}: ${startOf(reply.body)}`)
  return validOrUndefined(parseIdle, reply.body)
}

export interface RunCounts {
  readonly pending: number
  readonly active: number
}

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
  return validRunCounts(reply.body)
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
  return validRunCounts(JSON.stringify({ pending: count("pending"), running: count("running") }))
}

function validRunCounts(text: string): RunCounts | undefined {
  const counts = validOrUndefined(parseRunCounts, text)
  return counts && { pending: counts.pending, active: counts.running }
}

/**
 * @param address  of any unit of the deployment
 * @returns  undefined while the unit gives no valid answer
 */
export async function askPins(address: UnitAddress, revisionId: string): Promise<Pins | undefined> {
  const reply = await ask(address, "GET", `/internal/pins/${revisionId}`).catch(undefinedIfUnreachable)
  // An image of somebody else, or a release that pins nothing.
  if (reply?.status === 404) return { threads: 0, has_runs: false, traffic: undefined }
  if (reply?.status !== 200) return undefined
  return validOrUndefined(parsePins, reply.body)
}

/** Ends all pins to a revision. May be repeated. @throws Error  when the unit does not answer or refuses */
export async function endPins(address: UnitAddress, revisionId: string): Promise<void> {
  const { status, body } = await ask(address, "DELETE", `/internal/pins/${revisionId}`)
  if (status >= 300 && status !== 404) throw new Error(`the unit refused to end pins with ${status}: ${startOf(body)}`)
}

/**
 * Answers and edits of people that the unit's deployment has recorded and nobody has confirmed, the oldest first.
 * @returns  none while the unit cannot be reached, or is not ready
 * @throws Error  the unit refuses, or its reply is invalid or too large: then no act of its deployment is taken, which must be noticed
 */
export async function askActs(address: UnitAddress): Promise<readonly ReportedAct[]> {
  const reply = await ask(address, "GET", "/internal/acts").catch((error: unknown) => {
    if (error instanceof ReplyTooLarge) throw error
    return undefinedIfUnreachable(error)
  })
  if (!reply || reply.status === 503) return []
  if (reply.status !== 200)
    throw new Error(`the unit answered the question for acts with ${reply.status}: ${startOf(reply.body)}`)
  return parseActs(reply.body)
}

/** Says that these acts are stored. May be repeated. @throws Error  when the unit does not answer or refuses */
export async function confirmActs(address: UnitAddress, ids: readonly string[]): Promise<void> {
  const request = JSON.stringify(ids)
  const { status, body } = await ask(address, "POST", "/internal/acts/confirmed", undefined, timeoutMs, request)
  if (status >= 300) throw new Error(`the unit refused a confirmation with ${status}: ${startOf(body)}`)
}

// The unit looks for 10 s at most.
const orphansMs = 30_000

/** @returns why there is no answer, when there is none: a unit of an older release has none, and one may take too long */
export async function askOrphans(address: UnitAddress, signal: AbortSignal): Promise<Orphans | { reason: string }> {
  try {
    const { status, body } = await ask(address, "GET", "/internal/orphans", signal, orphansMs)
    return status === 200 ? parseOrphans(body) : { reason: `the agent server answered ${status}` }
  } catch (error) {
    signal.throwIfAborted()
    return { reason: error instanceof Error ? error.message : String(error) }
  }
}

export interface Activation {
  /** Which threads stay on the revision before, or on this one later. */
  readonly pinning: "none" | "paused" | "always"
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
  if (status >= 300) throw new Error(`the unit refused to serve with ${status}: ${startOf(body)}`)
}
