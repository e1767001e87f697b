/**
 * Judges of a history: the rules of the queue (../../README.md) on what the database recorded, what workers did, and what clients asked for.
 * They know nothing of the product's statements. Pure.
 */
import { type AttemptEnding, isFinal, maxLosses } from "../../run.js"
import type { Ask, StopAsk } from "./clients.js"
import type { Records, Step } from "./record.js"
import type { Trouble } from "./simulated-server.js"
import type { Execution } from "./simulated-workers.js"

/** The life of one server, as the simulation knows it. */
export interface ServerLife {
  readonly serverId: string
  readonly fromMs: number
  readonly toMs: number | undefined
  /** When it was suspended, or alone cut from the database. */
  readonly troubles: readonly Trouble[]
}

export interface History extends Records {
  readonly servers: readonly ServerLife[]
  readonly executions: ReadonlyMap<string, Execution>
  readonly asks: readonly Ask[]
  readonly stops: readonly StopAsk[]
  readonly leaseMs: number
  readonly runTimeoutMs: number
  /** For how long a statement may be on its way, also when its server is gone. */
  readonly wayMs: number
}

// By whether statements of a history hang, or arrive late.
export const [longestWayMs, usualWayMs] = [125_000, 1000]
// From the end of what kept a server to the renewal of its lease: the timeout of a statement, a pause, and some answers.
const renewedWithinMs = 15_000

/** What a history breaks, in words. */
export function problemsOf(history: History): string[] {
  const problems: string[] = []
  const claims = new Set<string>()
  const last = new Map<string, Step>()
  for (const step of history.steps) {
    const found = [
      ...problemsOfStep(history, step),
      ...problemsOfClaim(claims, step),
      ...problemsOfCounts(last.get(step.run_id), step),
    ]
    for (const problem of found) problems.push(`${problem}: ${JSON.stringify(step)}`)
    last.set(step.run_id, step)
  }
  for (const write of history.writes)
    if (!write.is_fenced) problems.push(`R4: a claim that has ended has written: ${JSON.stringify(write)}`)
  for (const renewal of history.renewals) {
    if (!mayAct(history, renewal.server_id, renewal.at_ms))
      problems.push(`M4: the lease of a server that is gone was renewed: ${JSON.stringify(renewal)}`)
    if (renewal.lease_ms > history.leaseMs + 1) problems.push(`M4: a lease is too long: ${JSON.stringify(renewal)}`)
  }
  return [...problems, ...problemsOfAsks(history)]
}

function* problemsOfClaim(claims: Set<string>, { claim_id, old_claim_id }: Step): Generator<string> {
  if (claim_id === null || claim_id === old_claim_id) return
  if (claims.has(claim_id)) yield "R1: a claim is given twice"
  claims.add(claim_id)
}

const isServerGone = (ending: AttemptEnding | null): boolean =>
  ending === "lease_ended" || ending === "server_restarted" || ending === "abandoned"

/** What is counted when a run waits again: losses, and the servers that it was lost with. */
function* problemsOfCounts(before: Step | undefined, step: Step): Generator<string> {
  const { ending, losses, servers_lost, runs_alone } = step
  if (!before || ending === null || step.old_status !== "running") return
  const isLoss = ending === "worker_died" || (isServerGone(ending) && before.runs_alone)
  const expected = before.losses + (ending === "worker_blocked" ? 2 : isLoss ? 1 : 0)
  if (losses !== expected) yield `R5: ${losses} losses are counted, not ${expected}`
  const servers = before.servers_lost + (isServerGone(ending) ? 1 : 0)
  if (servers_lost !== servers) yield `R5: ${servers_lost} lost servers are counted, not ${servers}`
  const isAlone = before.runs_alone || ofWorkers.includes(ending) || servers >= maxLosses
  if (runs_alone !== isAlone) yield `R9: a run that waits executes ${runs_alone ? "" : "not "}alone`
}

function* problemsOfStep(history: History, step: Step): Generator<string> {
  const { old_status, status } = step
  if (old_status !== null && isFinal(old_status)) yield "a run that is over has changed"
  else if (status === "running") yield* problemsOfStart(history, step)
  else if (old_status === "running") yield* problemsOfEnd(history, step)
  else if (old_status === "pending") yield* problemsOfStop(history, step)
  else if (step.attempt !== 0) yield "a run that waits was attempted before it was created"
}

function* problemsOfStart(history: History, step: Step): Generator<string> {
  if (step.old_status === "running") yield "R1: a run that executes is claimed again"
  if (step.attempt !== (step.old_attempt ?? 0) + 1) yield "attempts are not counted one by one"
  if (step.executing > 0) yield "R2: two runs of a thread execute"
  if (step.earlier > 0) yield "R3: a run starts before one that has waited for longer"
  if (!step.is_due) yield "a run starts before its time"
  if (step.claimed_by === null || !mayAct(history, step.claimed_by, step.at_ms))
    yield "R1: a server that is gone has claimed a run"
}

/** An attempt is over: its run waits again, has ended, or is gone. */
function* problemsOfEnd(history: History, step: Step): Generator<string> {
  const execution = history.executions.get(step.old_claim_id ?? "")
  if (step.status === "pending") {
    yield* problemsOfReturn(history, step, execution)
    return
  }
  if (step.status === null) {
    const isAsked = step.cancel_action === "rollback" && isStopAsked(history, step, "rollback")
    const isOver = step.deletes_thread && hasEnded(history, step, execution)
    if (!isAsked && !isOver) yield "an executing run is gone, and nobody asked for it"
    return
  }
  if (step.status === "success" && execution?.end !== "success") yield "a run has succeeded that its worker did not end"
  if (step.status === "interrupted" && step.cancel_action === null && execution?.end !== "interrupted")
    yield "a run is interrupted, and nobody asked for it"
  if (step.cancel_action !== null && !isStopAsked(history, step)) yield "a stop was recorded that nobody asked for"
  if (step.status === "timeout" && !isTimeOver(history, step, execution)) yield "R10: a run has timed out too early"
  if (step.status === "error" && execution?.end !== "error" && lossesAfter(step, execution) < maxLosses)
    yield "R5: a run has failed that was not lost three times"
}

const isTimeOver = ({ runTimeoutMs }: History, { at_ms }: Step, execution: Execution | undefined): boolean =>
  execution !== undefined && at_ms - execution.fromMs >= runTimeoutMs * 0.9

const ends: readonly Execution["end"][] = ["success", "error", "interrupted"]

/** Of a run that is deleted with its thread when it ends. */
const hasEnded = (history: History, step: Step, execution: Execution | undefined): boolean =>
  ends.includes(execution?.end) || isTimeOver(history, step, execution) || lossesAfter(step, execution) >= maxLosses

/** How often the run was lost, with its last attempt. Where no worker died, its server is gone or does not execute it. */
function lossesAfter({ losses, runs_alone }: Step, execution: Execution | undefined): number {
  if (execution?.end === "worker_blocked") return losses + 2
  if (execution?.end === "worker_died") return losses + 1
  return losses + (runs_alone ? 1 : 0)
}

const ofWorkers: readonly (AttemptEnding | null)[] = ["worker_died", "worker_blocked", "shared_worker_died"]

function* problemsOfReturn(history: History, step: Step, execution: Execution | undefined): Generator<string> {
  const { at_ms, ending } = step
  const serverId = step.old_claimed_by ?? ""
  if (step.attempt !== step.old_attempt) yield "the number of attempts changes while no attempt begins"
  if (step.losses >= maxLosses) yield "R5: a run that was lost three times waits again"
  if (step.cancel_action !== null) yield "R7: a run whose stop was asked for waits again"
  const lives = history.servers.filter((server) => server.serverId === serverId)
  if (ofWorkers.includes(ending) && execution?.end !== ending)
    yield `R5: an attempt ended as ${ending}, which its worker did not do (${execution?.end})`
  if (ending === "handed_back" && execution?.end !== "stopped") yield "an attempt was handed back that did not stop"
  if (ending === "lease_ended") {
    if (step.is_held) yield "M4: a claim was taken from a server that holds it"
    if (!lives.some((server) => mayHold(history, server, step, execution) && hadTrouble(server, at_ms)))
      yield "R12: a claim was taken from a server that nothing kept from renewing its lease"
  }
  if (
    ending === "server_restarted" &&
    !lives.some(({ fromMs }) => fromMs <= at_ms && fromMs > claimedAt(history, step))
  )
    yield "a claim was taken for one of a former server, and there was no other server in between"
  // The answer to the claim may have come while the claim was given back.
  if (ending === "abandoned" && execution && isExecuting(history, execution, at_ms - history.wayMs, at_ms))
    yield "R12: a server has given back a claim that it executes"
}

const claimedAt = ({ steps }: History, { old_claim_id, run_id }: Step): number =>
  steps.find((step) => step.run_id === run_id && step.claim_id === old_claim_id)?.at_ms ?? 0

/** Whether a claim may be one of this life of its server: where it executes, or a statement of it has claimed it. */
function mayHold(
  history: History,
  { fromMs, toMs = Infinity }: ServerLife,
  step: Step,
  execution?: Execution,
): boolean {
  const atMs = execution?.fromMs ?? claimedAt(history, step)
  return fromMs <= atMs && atMs <= toMs + (execution ? 0 : history.wayMs)
}

function hadTrouble({ fromMs, toMs, troubles }: ServerLife, atMs: number): boolean {
  if (fromMs > atMs) return false
  return (toMs ?? Infinity) <= atMs || troubles.some((it) => it.fromMs <= atMs && atMs <= it.toMs + renewedWithinMs)
}

function isExecuting({ servers }: History, execution: Execution, sinceMs: number, atMs: number): boolean {
  const { serverId, fromMs, toMs = Infinity } = execution
  const server = servers.find(
    (it) => it.serverId === serverId && it.fromMs <= fromMs && fromMs <= (it.toMs ?? Infinity),
  )
  return fromMs < sinceMs && toMs > atMs && (server?.toMs ?? Infinity) > atMs
}

function* problemsOfStop(history: History, step: Step): Generator<string> {
  if (step.status === "interrupted" && !isStopAsked(history, step))
    yield "a run that waits was stopped, and nobody asked for it"
  if (step.status === null && !isStopAsked(history, step, "rollback"))
    yield "a run that waits is gone, and nobody asked for it"
  if (step.status !== null && step.status !== "interrupted") yield `a run that waits has become ${step.status}`
}

const isStopAsked = ({ stops }: History, step: Step, action?: StopAsk["action"]): boolean =>
  stops.some(
    (stop) =>
      stop.atMs <= step.at_ms &&
      (stop.runId === step.run_id || stop.threadId === step.thread_id) &&
      (action === undefined || stop.action === action),
  )

/** Whether a statement of the server can come at this time. */
const mayAct = ({ servers, wayMs }: History, serverId: string, atMs: number): boolean =>
  servers.some(
    (server) => server.serverId === serverId && server.fromMs <= atMs && atMs <= (server.toMs ?? Infinity) + wayMs,
  )

/** No run is lost, and none is there that nobody asked for. */
function problemsOfAsks({ asks, steps }: History): string[] {
  const last = new Map(steps.map((step) => [step.run_id, step]))
  const ofAsks = asks.flatMap(({ runId, outcome }) => {
    const step = last.get(runId)
    if (outcome === "created" && !step) return [`the acknowledged run ${runId} was never there`]
    if (outcome === "refused" && step) return [`the refused run ${runId} is there`]
    if (step?.status && !isFinal(step.status)) return [`the run ${runId} is ${step.status} in the end`]
    return []
  })
  const known = new Set(asks.map(({ runId }) => runId))
  const strays = [...last.keys()].filter((runId) => !known.has(runId))
  return [...ofAsks, ...strays.map((runId) => `nobody asked for the run ${runId}`)]
}
