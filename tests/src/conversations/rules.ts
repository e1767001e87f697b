/**
 * What the worker protocol promises of every conversation (protocol/worker/README.md, W1 to W10): a judge that knows these rules, and no graph and
 * no scenario. Pure.
 */
import type { Received } from "@superstep/worker-js/testing/fake-server"

/** What a server has told a worker about a run. */
export interface Told {
  readonly claim: string
  readonly what: "run" | "pause_events" | "resume_events" | "cancel" | "lost"
  /** How many frames of the worker had come before. */
  readonly after: number
  /** Of the ping that followed: before its `pong` the worker has read it. */
  readonly nonce: string
}

interface Placed extends Received {
  readonly at: number
}

/** @returns  a sentence for each frame that a rule forbids */
export function brokenRules(received: readonly Received[], told: readonly Told[]): string[] {
  const frames = received.map((frame, at): Placed => ({ ...frame, at }))
  const readAt = ({ nonce }: Told): number =>
    frames.find(({ header }) => header.type === "pong" && header.nonce === nonce)?.at ?? Number.POSITIVE_INFINITY
  const claims = [...new Set(told.map(({ claim }) => claim))]
  const unknown = frames.flatMap((frame) => {
    const claim = claimOf(frame)
    return claim === undefined || claims.includes(claim)
      ? []
      : [`W1: ${describe(frame)} of a run that was never started`]
  })
  const rules = claims.flatMap((claim) => {
    const own = frames.filter((frame) => claimOf(frame) === claim)
    const orders = told.filter((each) => each.claim === claim)
    return [
      ...afterEnd(own, orders.filter(({ what }) => what === "lost").map(readAt)),
      ...inPauses(own, orders, readAt),
      ...afterResults(own),
    ]
  })
  return [...unknown, ...rules, ...beforeQuestions(frames, told)]
}

const claimOf = ({ header }: Received): string | undefined => ("claim_id" in header ? header.claim_id : undefined)

const describe = ({ header, at }: Placed): string => {
  const name = header.type === "event" ? header.event : header.type === "call" ? header.method : ""
  return `frame ${at} (${[header.type, name].filter(Boolean).join(" ")})`
}

/** Nothing follows `done`, and nothing a claim that is lost (W1, W3, W4). */
function afterEnd(own: readonly Placed[], lostAt: readonly number[]): string[] {
  const done = own.find(({ header }) => header.type === "done")
  return own.flatMap((frame) => {
    if (done && frame.at > done.at) return [`W1: ${describe(frame)} came after the run's done`]
    if (lostAt.some((at) => frame.at > at)) return [`W4: ${describe(frame)} came after its claim was lost`]
    return []
  })
}

/** No event between a pause and the end of it (W9). */
function inPauses(own: readonly Placed[], orders: readonly Told[], readAt: (told: Told) => number): string[] {
  return orders.flatMap((order, index) => {
    if (order.what !== "pause_events") return []
    const from = readAt(order)
    const until = orders.slice(index + 1).find(({ what }) => what !== "pause_events")?.after ?? Number.POSITIVE_INFINITY
    const early = own.filter(({ header, at }) => header.type === "event" && at > from && at < until)
    return early.map((frame) => `W9: ${describe(frame)} came while the events of its run were paused`)
  })
}

/** The result of a task is in the stream before it is saved (W2). */
function afterResults(own: readonly Placed[]): string[] {
  const results = own.flatMap(({ header, payload, at }) => {
    if (header.type !== "event" || !/^tasks(\||$)/.test(header.event)) return []
    const { id, result } = JSON.parse(payload.data ?? "{}") as { readonly id?: string; readonly result?: unknown }
    return result === undefined ? [] : [{ id, at }]
  })
  return own.flatMap((frame) => {
    const { header, at } = frame
    if (header.type !== "call" || header.method !== "checkpoint.put_writes") return []
    // Negative places are of errors, interrupts and answers.
    const saved = header.writes.filter(({ idx }) => idx >= 0).map(({ task_id }) => task_id)
    const isEarly = results.some((result) => result.at > at && saved.includes(result.id ?? ""))
    return isEarly ? [`W2: ${describe(frame)} saved the result of a task that the stream did not have yet`] : []
  })
}

/** An interrupt is reported when it is saved (W10); a run that is cancelled says what its graph has asked, and may save nothing. */
function beforeQuestions(frames: readonly Placed[], told: readonly Told[]): string[] {
  const cancelled = new Set(told.filter(({ what }) => what === "cancel").map(({ claim }) => claim))
  const asking = new Set<string>()
  const threads = new Map<string, string>()
  return frames.flatMap((frame) => {
    const { header, payload } = frame
    if (header.type === "call" && "thread_id" in header) {
      const claim = claimOf(frame)
      if (claim !== undefined) threads.set(claim, header.thread_id)
      const isQuestion = header.method === "checkpoint.put_writes" && header.writes.some(isOfInterrupt)
      if (isQuestion) asking.add(header.thread_id)
    }
    if (header.type !== "event" || !/^(updates|values)$/.test(header.event) || cancelled.has(header.claim_id)) return []
    const { __interrupt__: questions } = Object(JSON.parse(payload.data ?? "{}"))
    if (!Array.isArray(questions) || questions.length === 0) return []
    const thread = threads.get(header.claim_id)
    const isSaved = thread !== undefined && asking.has(thread)
    return isSaved ? [] : [`W10: ${describe(frame)} reports an interrupt that is not saved`]
  })
}

const isOfInterrupt = ({ channel }: { readonly channel: string }): boolean => channel === "__interrupt__"
