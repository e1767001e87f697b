/** The server's unanswered calls to one worker. */
import { Conflict, Unavailable } from "@superstep/toolkit/errors/errors"
import type { Reply, RunFailure } from "./port.js"

/**
 * The user's code failed during a call: a graph that cannot be built, a state that its schema rejects. It is a conflict (409),
 * since a retry does not help but other sources of the graph would; it is not an error of this server (500).
 */
export class WorkerCallFailed extends Conflict {
  /** Name of the error's class in the worker. */
  readonly error: string
  /** The error's text, such as `Error: no key`. */
  readonly reason: string
  constructor({ error, message }: RunFailure) {
    super(`the graph's code failed: ${error}: ${message}`, "graph_error")
    this.error = error
    this.reason = `${error}: ${message}`
  }
}

/** Converts a failed reply to an error. A worker also fails with errors that it got from this server during the call. */
function toError(failure: RunFailure): Error {
  const { error, message } = failure
  if (error.endsWith("Unavailable")) return new Unavailable(message)
  // A worker of another language, or of an earlier release: a retry does not help.
  if (error === "UnknownMethod")
    return new Conflict(`the worker of this graph cannot do that: ${message}`, "not_supported")
  if (error === "InternalError") return new Error(`the worker answered ${error}: ${message}`)
  return new WorkerCallFailed(failure)
}

interface PendingCall {
  readonly timer: NodeJS.Timeout
  resolve(reply: Reply): void
  reject(error: Error): void
}

export class PendingCalls {
  readonly #calls = new Map<string, PendingCall>()
  readonly #limitMs: number
  #last = 0

  /** @param limitMs  how long a call may wait for its answer, in milliseconds */
  constructor(limitMs: number) {
    this.#limitMs = limitMs
  }

  get size(): number {
    return this.#calls.size
  }

  /** @returns the id to send, and the promise of the reply */
  open(): { callId: string; answer: Promise<Reply> } {
    this.#last += 1
    const callId = String(this.#last)
    const answer = new Promise<Reply>((resolve, reject) => {
      const timer = setTimeout(() => this.#take(callId)?.reject(tooSlow(this.#limitMs)), this.#limitMs)
      this.#calls.set(callId, { resolve, reject, timer })
    })
    return { callId, answer }
  }

  reply(callId: string, reply: Reply): void {
    this.#take(callId)?.resolve(reply)
  }

  fail(callId: string, failure: RunFailure): void {
    this.#take(callId)?.reject(toError(failure))
  }

  failAll(detail: string): void {
    const error = new Unavailable(`the worker died before it answered: ${detail}`)
    for (const callId of [...this.#calls.keys()]) this.#take(callId)?.reject(error)
  }

  #take(callId: string): PendingCall | undefined {
    const call = this.#calls.get(callId)
    this.#calls.delete(callId)
    clearTimeout(call?.timer)
    return call
  }
}

const tooSlow = (limitMs: number): Unavailable =>
  new Unavailable(
    `the worker did not answer within ${limitMs / 1000} s: a graph holds its event loop, or asks for much`,
  )
