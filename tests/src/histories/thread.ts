/**
 * One thread as a sequential object: which answer a server may give in which state. Pure. The rules are those of
 * server/src/runs/README.md and server/src/threads/README.md, for the graph `thread` of tests/chaos.
 *
 * A run executes by itself: how far it is shows only in reads, so a read that shows more than is known yet moves the state on.
 */
import { type Call, entryOf, type Operation, type Outcome, type Task, type Value } from "./call.js"
import type { SequentialObject } from "./search.js"

/** Where the graph has stopped: so many entries of a task are in the state. */
interface Position {
  readonly task: string
  readonly done: number
  /** Its question was asked, and no answer is in the state. */
  readonly isOpen: boolean
}

interface QueuedRun {
  readonly run: string
  /** A new input; or an answer, which goes on from the position of the thread. */
  readonly kind: "input" | "answer"
  readonly stop?: "interrupt" | "rollback"
}

interface EndedRun {
  readonly status: "success" | "interrupted" | "error"
  /** Undefined where both are right. */
  readonly isInputSaved?: boolean
  /** How many entries the state had when it ended; undefined when it wrote none. */
  readonly length?: number
  /** What its last super-step may have written without a commit, when it was stopped. */
  readonly written?: string
}

export interface Thread {
  readonly exists: boolean
  /** Of runs that are over and of updates. */
  readonly log: readonly string[]
  readonly position?: Position
  /** In flight. Only the first may execute. */
  readonly queue: readonly QueuedRun[]
  /** So many entries of the first one are in the state. */
  readonly done: number
  readonly ended: Readonly<Record<string, EndedRun>>
  /** How often it was deleted. */
  readonly deletions: number
}

export const emptyThread: Thread = { exists: true, log: [], queue: [], done: 0, ended: {}, deletions: 0 }

/** @param history  names the tasks */
export function threadObject(history: readonly Call[], start: Thread = emptyThread): SequentialObject<Thread, Call> {
  const tasks = new Map(history.flatMap(({ what }) => ("task" in what ? [[what.run, what.task] as const] : [])))
  return {
    start,
    step: (state, { what, outcome }) => step(tasks, state, what, outcome),
    drift: (state) => endings(tasks, state),
    key: (state) =>
      JSON.stringify([
        state.exists,
        state.deletions,
        state.log,
        state.position,
        state.queue,
        state.done,
        Object.entries(state.ended).sort(([one], [two]) => (one < two ? -1 : 1)),
      ]),
  }
}

type Tasks = ReadonlyMap<string, Task>

const entriesOf = (tasks: Tasks, name: string): string[] => {
  const steps = Array.from({ length: tasks.get(name)?.steps ?? 0 }, (_, step) => `${name}/${step}`)
  return [`${name}/in`, ...steps]
}

/** What the first run of the queue appends when nothing stops it, and where the graph stands at each of its entries. */
function planOf(tasks: Tasks, { queue, position }: Thread) {
  const [first] = queue
  if (!first) return { entries: [], at: () => undefined, asks: false }
  if (first.kind === "answer" && !position) return { entries: [], at: () => undefined, asks: false }
  const task = first.kind === "input" ? first.run : (position?.task ?? "")
  const all = entriesOf(tasks, task)
  const asks = tasks.get(task)?.asks ?? false
  const before = first.kind === "input" ? 0 : (position?.done ?? 0)
  if (first.kind === "answer" && before === all.length && asks)
    return {
      entries: [`${first.run}/answer`],
      at: (done: number, isOpen: boolean) =>
        done === 0 && position ? { ...position, isOpen: position.isOpen || isOpen } : undefined,
      asks: false,
    }
  const at = (done: number, isOpen: boolean): Position | undefined =>
    before + done === all.length && !asks ? undefined : { task, done: before + done, isOpen }
  return { entries: all.slice(before), at, asks }
}

const visible = (tasks: Tasks, state: Thread): string[] => [
  ...state.log,
  ...planOf(tasks, state).entries.slice(0, state.done),
]

/** Every way in which the first run of the queue may end. */
function endings(tasks: Tasks, state: Thread): Thread[] {
  const [first, ...queue] = state.queue
  if (!first) return []
  if (first.stop === "rollback") return [{ ...state, queue, done: 0 }]
  const { entries, at, asks } = planOf(tasks, state)
  const end = (
    count: number,
    status: EndedRun["status"],
    position: Position | undefined,
    isInputSaved?: boolean,
  ): Thread => {
    const { position: _, ...rest } = state
    const log = [...state.log, ...entries.slice(0, count)]
    const ended: EndedRun = {
      status,
      ...(isInputSaved !== undefined && { isInputSaved }),
      ...(count > 0 && { length: log.length }),
      ...(position && entries[count] !== undefined && { written: entries[count] }),
    }
    return {
      ...rest,
      log,
      queue,
      done: 0,
      ended: { ...state.ended, [first.run]: ended },
      ...(position && { position }),
    }
  }
  const all = entries.length
  const whole = asks ? end(all, "interrupted", at(all, true), true) : end(all, "success", at(all, false), true)
  // LangGraph refuses an answer on a thread that has no state at all.
  const refused = first.kind === "answer" && visible(tasks, state).length === 0 ? [end(0, "error", state.position)] : []
  if (first.stop !== "interrupt") return [whole, ...refused]
  const stopped: Thread[] = []
  for (let count = Math.max(state.done, 1); count <= all; count++) {
    stopped.push(end(count, "interrupted", at(count, false), true))
  }
  if (state.done > 0) return [whole, ...stopped]
  if (first.kind === "answer") return [whole, ...refused, ...stopped, end(0, "interrupted", state.position)]
  // Its input may be saved and not applied yet, which is not kept: an answer goes on with it, another input replaces it.
  return [whole, ...stopped, end(0, "interrupted", state.position, false), end(0, "interrupted", at(0, false), false)]
}

function step(tasks: Tasks, state: Thread, what: Operation, outcome: Outcome): readonly Thread[] {
  const refusedWith = (status: number) => (outcome.is === "refused" && outcome.status === status ? [state] : [])
  const unlessRefused = (after: Thread) => (outcome.is === "refused" ? [] : [after])
  const value = outcome.is === "ok" ? (outcome.value ?? {}) : undefined
  const isBusy = state.queue.length > 0
  const isAsking = !isBusy && state.position?.isOpen === true
  const makesThread = what.op === "start" || (what.op === "create" && what.makesThread === true)
  // Pruning names threads in its body, and passes over missing ones.
  if (!state.exists && !makesThread && what.op !== "prune")
    return refusedWith(what.op === "copy" ? 409 : 404).concat(what.op === "over" ? [state] : [])
  const { deletions } = state
  const thread: Thread = state.exists ? state : { ...emptyThread, deletions }
  switch (what.op) {
    case "create":
    case "resume":
      if (what.strategy === "reject" && isBusy) return refusedWith(409)
      return unlessRefused(queued(thread, what, what.op === "create" ? "input" : "answer"))
    case "start":
      if (what.strategy === "reject" && isBusy) return refusedWith(409)
      return unlessRefused(queued(thread, what, isAsking ? "answer" : "input"))
    case "respond":
      if (isBusy || !isAsking || state.position?.task !== what.about) return refusedWith(409)
      return unlessRefused(queued(thread, { run: what.run, strategy: "reject" }, "answer"))
    case "cancel":
      return cancelled(state, what.run, what.action).flatMap((after) =>
        after ? unlessRefused(after) : refusedWith(404),
      )
    case "update": {
      if (isBusy) return refusedWith(409)
      const { position: _, ...rest } = state
      return unlessRefused({ ...rest, log: [...state.log, what.entry] })
    }
    case "delete":
      return unlessRefused({ ...emptyThread, exists: false, deletions: deletions + 1 })
    case "prune":
      // What the runs before the newest checkpoint left is gone: their results show the thread.
      return unlessRefused(isBusy ? { ...state } : withoutResults(state))
    case "state":
    case "copy":
      return value ? showing(tasks, state, value) : []
    case "status":
      return value && (value.status === "busy") === isBusy ? [state] : []
    case "run":
      return statusFits(state, what.run, outcome) ? [state] : []
    case "over":
      return state.queue.some(({ run }) => run === what.run) ? [] : [state]
    case "result":
      return resultFits(state, what.run, outcome) ? [state] : []
    case "kept":
      return [state]
  }
}

function withoutResults(state: Thread): Thread {
  const older = Object.entries(state.ended).filter(
    ([, { length }]) => length !== undefined && length < state.log.length,
  )
  const ended = { ...state.ended }
  for (const [run, { length: _, ...rest }] of older) ended[run] = rest
  return { ...state, ended }
}

function queued(
  state: Thread,
  { run, strategy }: { readonly run: string; readonly strategy: string },
  kind: QueuedRun["kind"],
): Thread {
  const stopped = strategy === "interrupt" || strategy === "rollback" ? stopAll(state, strategy) : state
  return { ...stopped, queue: [...stopped.queue, { run, kind }] }
}

/** What waits ends at once, what executes is asked to. */
function stopAll(state: Thread, action: "interrupt" | "rollback"): Thread {
  return state.queue.slice(1).reduce((after, { run }) => withoutWaiting(after, run, action), stopFirst(state, action))
}

function stopFirst(state: Thread, action: "interrupt" | "rollback"): Thread {
  const [first, ...others] = state.queue
  if (!first) return state
  return { ...state, queue: [{ ...first, stop: first.stop === "rollback" ? "rollback" : action }, ...others] }
}

function withoutWaiting(state: Thread, run: string, action: "interrupt" | "rollback"): Thread {
  const queue = state.queue.filter((one) => one.run !== run)
  const ended: Record<string, EndedRun> = { ...state.ended }
  if (action === "interrupt") ended[run] = { status: "interrupted", isInputSaved: false }
  return { ...state, queue, ended }
}

/** @returns undefined in the list where there is no such run */
function cancelled(state: Thread, run: string, action: "interrupt" | "rollback"): (Thread | undefined)[] {
  if (state.ended[run]) return [state]
  const index = state.queue.findIndex((one) => one.run === run)
  if (index < 0) return [undefined]
  return [index === 0 ? stopFirst(state, action) : withoutWaiting(state, run, action)]
}

/** A read of the whole state: it may show more of the first run than is known, and what its present super-step has not committed. */
function showing(tasks: Tasks, state: Thread, { log = [], question, uncommitted = 0 }: Value): Thread[] {
  const open = state.position?.isOpen ? state.position.task : null
  if (question !== undefined && state.queue.length === 0 && question !== open) return []
  const read = log.map(entryOf)
  const done = read.length - uncommitted - state.log.length
  if (done < state.done) return []
  const { entries } = planOf(tasks, state)
  const isShown = (last: readonly string[]) => {
    const expected = [...state.log, ...entries.slice(0, done), ...last]
    return read.length === expected.length && expected.every((entry, at) => entry === read[at])
  }
  const written = [entries.slice(done, done + 1), ...(done === 0 ? [pendingOf(tasks, state)] : [])]
  if (!(uncommitted === 0 ? isShown([]) : written.some(isShown))) return []
  return [done === state.done ? state : { ...state, done }]
}

/**
 * What the super-step in which a run was stopped has written and not committed. LangGraph shows it in the state, until an answer goes on with
 * it or another input drops it.
 */
function pendingOf(tasks: Tasks, { position, queue: [first] }: Thread): string[] {
  if (!position || position.isOpen || first?.kind === "answer") return []
  return entriesOf(tasks, position.task).slice(position.done, position.done + 1)
}

/** Whether a read of a run's status may be so. */
export function statusFits(state: Thread, run: string, outcome: Outcome): boolean {
  const ended = state.ended[run]
  const index = state.queue.findIndex((one) => one.run === run)
  if (!ended && index < 0) return outcome.is === "refused" && outcome.status === 404
  if (outcome.is !== "ok") return false
  const { status, isInputSaved } = outcome.value ?? {}
  // A run that was lost waits again.
  if (!ended) return status === "pending" || (index === 0 && status === "running")
  const isSaid = typeof isInputSaved === "boolean" && ended.isInputSaved !== undefined
  return status === ended.status && (!isSaid || isInputSaved === ended.isInputSaved)
}

/** A run that is gone has no result; one that wrote nothing shows the state of its thread, whichever it is; a stopped one shows its state as LangGraph does. */
function resultFits(state: Thread, run: string, outcome: Outcome): boolean {
  const ended = state.ended[run]
  if (!ended) return outcome.is === "refused" && !state.queue.some((one) => one.run === run)
  if (outcome.is === "refused") return ended.status === "error"
  if (ended.length === undefined) return true
  const read = (outcome.is === "ok" ? (outcome.value?.log ?? []) : []).map(entryOf)
  const left = state.log.slice(0, ended.length)
  const may = ended.written === undefined ? [left] : [left, [...left, ended.written]]
  return may.some((log) => read.length === log.length && read.every((entry, at) => entry === log[at]))
}

/** The state in words, for people. */
export function describeThread({ exists, log, position, queue, done }: Thread): string {
  if (!exists) return "the thread is deleted"
  const runs = queue.map(
    ({ run, stop }, at) => `${run}${at === 0 ? ` (${done} entries seen)` : ""}${stop ? ` (to ${stop})` : ""}`,
  )
  const place = position
    ? `, stopped in ${position.task} after ${position.done}${position.isOpen ? ", asking" : ""}`
    : ""
  return `log [${log.join(" ")}]${place}, in flight: ${runs.join(", ") || "nothing"}`
}
