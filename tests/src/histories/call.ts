/** What a history consists of: calls of clients on threads, with their times and outcomes. One line of JSON each. */
import { appendFileSync, readFileSync } from "node:fs"
import type { ReadNumbers } from "./numbers.js"

/** What a run with an input executes: `in`, then so many super-steps, each of which appends one entry; then it may ask. */
export interface Task {
  readonly name: string
  readonly steps: number
  readonly asks: boolean
}

export type Strategy = "reject" | "enqueue" | "interrupt" | "rollback"

/** Runs are named by their clients, since an id is known only once the server has replied. */
export type Operation =
  | {
      readonly op: "create"
      readonly run: string
      readonly task: Task
      readonly strategy: Strategy
      readonly makesThread?: boolean
    }
  /** A run with `command.resume`, whatever the thread's state. */
  | { readonly op: "resume"; readonly run: string; readonly strategy: Strategy }
  /** `run.start` of the newer protocol: it answers an open question, and creates a missing thread. */
  | { readonly op: "start"; readonly run: string; readonly task: Task; readonly strategy: Strategy }
  /** `input.respond` of the newer protocol, to the question that a task asked. */
  | { readonly op: "respond"; readonly run: string; readonly about: string }
  | { readonly op: "cancel"; readonly run: string; readonly action: "interrupt" | "rollback" }
  | { readonly op: "update"; readonly entry: string }
  | { readonly op: "delete" | "prune" }
  /** A read of the whole state; `copy` reads the copy that it made. */
  | { readonly op: "state" | "copy" | "status" }
  /** A run's status; its result, as `join` and `wait` return it; and whether it is over, as the end of a stream says. */
  | { readonly op: "run" | "result" | "over"; readonly run: string }
  /** A read of what has numbers and says nothing of the thread: an item of the store, a cron. */
  | { readonly op: "kept"; readonly name: string }

/** `log`: the ids that nodes and updates have appended; `question`: the task whose question is open. */
export interface Value {
  readonly log?: readonly string[]
  /** So many ids at the end of `log` are of a super-step that is not committed: LangGraph shows what its tasks have written. */
  readonly uncommitted?: number
  readonly question?: string | null
  readonly status?: string
  readonly isInputSaved?: boolean | null
  /** What must be in the state, and is not. */
  readonly lacks?: string
  readonly numbers?: readonly ReadNumbers[]
}

export type OutcomeWith<V> =
  | { readonly is: "ok"; readonly value?: V }
  /** `why`: the words of a refusal of 500 and above. */
  | { readonly is: "refused"; readonly status: number; readonly why?: string }
  /** The reply was lost: it happened, will happen later, or never. */
  | { readonly is: "unknown" }

export type Outcome = OutcomeWith<Value>

/** A call on any object. */
export interface Recorded<O = unknown, V = unknown> {
  /** The object's name. */
  readonly thread: string
  readonly client: string
  readonly what: O
  /** Milliseconds of one monotonic clock. */
  readonly calledAt: number
  /** Infinite when the outcome is unknown. */
  readonly returnedAt: number
  readonly outcome: OutcomeWith<V>
}

export type Call = Recorded<Operation, Value>

/** Collects calls, and appends each to a file as soon as its outcome is known, so that a history survives its process. */
export class Recorder<C extends Recorded = Call> {
  readonly calls: C[] = []
  readonly #file: string

  constructor(file: string) {
    this.#file = file
  }

  add(call: C): void {
    this.calls.push(call)
    appendFileSync(this.#file, `${printCall(call)}\n`)
  }
}

/** JSON has no infinity: an unknown return is left out. */
const printCall = ({ returnedAt, ...call }: Recorded): string =>
  JSON.stringify(Number.isFinite(returnedAt) ? { ...call, returnedAt } : call)

export function readHistory(file: string): Call[] {
  const lines = readFileSync(file, "utf8").split("\n")
  return lines
    .filter((line) => line !== "")
    .map((line) => {
      const call = JSON.parse(line) as Omit<Call, "returnedAt"> & { readonly returnedAt?: number }
      return { ...call, returnedAt: call.returnedAt ?? Number.POSITIVE_INFINITY }
    })
}

/** An entry without its attempt: which attempt appended it is nobody's choice. */
export const entryOf = (id: string): string => id.replace(/#\d+$/, "")

/** Whether a call can take back what runs have written. */
export const undoes = ({ what }: Call): boolean =>
  what.op === "delete" ||
  (what.op === "cancel" && what.action === "rollback") ||
  ("strategy" in what && what.strategy === "rollback")
