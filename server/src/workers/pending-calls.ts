/** The server's questions to one worker that are not answered yet. */
import { KnownError, Unavailable } from "@superstep/toolkit/errors/errors"
import type { Reply, RunFailure } from "./port.js"

/** The worker answered with a failure, for example that of the user's code. */
export class WorkerCallFailed extends KnownError {
  readonly code = "worker_call_failed"
  /** Name of the error's class in the worker. */
  readonly error: string
  constructor({ error, message }: RunFailure) {
    super(`${error}: ${message}`)
    this.error = error
  }
}

interface PendingCall {
  resolve(reply: Reply): void
  reject(error: Error): void
}

export class PendingCalls {
  readonly #calls = new Map<string, PendingCall>()
  #last = 0

  /** @returns the id to send, and what becomes of the call */
  open(): { callId: string; answer: Promise<Reply> } {
    this.#last += 1
    const callId = String(this.#last)
    const answer = new Promise<Reply>((resolve, reject) => this.#calls.set(callId, { resolve, reject }))
    return { callId, answer }
  }

  reply(callId: string, reply: Reply): void {
    this.#take(callId)?.resolve(reply)
  }

  fail(callId: string, failure: RunFailure): void {
    this.#take(callId)?.reject(new WorkerCallFailed(failure))
  }

  failAll(detail: string): void {
    const error = new Unavailable(`the worker died before it answered: ${detail}`)
    for (const callId of [...this.#calls.keys()]) this.#take(callId)?.reject(error)
  }

  #take(callId: string): PendingCall | undefined {
    const call = this.#calls.get(callId)
    this.#calls.delete(callId)
    return call
  }
}
